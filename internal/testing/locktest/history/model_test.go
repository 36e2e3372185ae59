package history

import (
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// at is an operation with its first and last moment.
func at(call, end int64, k kind, tenure int64) porcupine.Operation {
	return porcupine.Operation{Input: event{k, "a", tenure}, Call: call, Return: end}
}

func TestModel_IllegalLockHistory_IsRejected(t *testing.T) {
	for name, tc := range map[string]struct {
		want    bool
		history []porcupine.Operation
	}{
		"one after the other":                         {true, []porcupine.Operation{at(1, 2, acquired, 1), at(3, 4, released, 1), at(5, 6, acquired, 2)}},
		"two at once":                                 {false, []porcupine.Operation{at(1, 2, acquired, 1), at(3, 4, acquired, 2), at(5, 6, released, 1)}},
		"the second while the first releases":         {true, []porcupine.Operation{at(1, 2, acquired, 1), at(3, 9, released, 1), at(4, 5, acquired, 2)}},
		"the same fence again":                        {false, []porcupine.Operation{at(1, 2, acquired, 1), at(3, 4, released, 1), at(5, 6, acquired, 1)}},
		"a smaller fence":                             {false, []porcupine.Operation{at(1, 2, acquired, 2), at(3, 4, released, 2), at(5, 6, acquired, 1)}},
		"refused though nobody has it":                {false, []porcupine.Operation{at(1, 2, acquired, 1), at(3, 4, released, 1), at(5, 6, refused, 0)}},
		"refused while an acquire has no answer":      {true, []porcupine.Operation{at(1, 20, perhaps, -1), at(1, 20, ended, -1), at(5, 6, refused, 0)}},
		"refused long after an acquire had none":      {false, []porcupine.Operation{at(1, 4, perhaps, -1), at(1, 4, ended, -1), at(5, 6, refused, 0), at(7, 8, acquired, 1)}},
		"another within the lease":                    {false, []porcupine.Operation{at(1, 2, acquired, 1), at(3, 4, acquired, 2), at(10, 20, ended, 1)}},
		"another after the lease":                     {true, []porcupine.Operation{at(1, 2, acquired, 1), at(10, 20, ended, 1), at(11, 12, acquired, 2)}},
		"told to hold still what another has":         {false, []porcupine.Operation{at(1, 2, acquired, 1), at(3, 20, ended, 1), at(4, 5, acquired, 2), at(6, 7, reentered, 1)}},
		"released what another has":                   {false, []porcupine.Operation{at(1, 2, acquired, 1), at(3, 20, ended, 1), at(4, 5, acquired, 2), at(6, 7, released, 1)}},
		"released in vain what another has":           {true, []porcupine.Operation{at(1, 2, acquired, 1), at(3, 20, ended, 1), at(4, 5, acquired, 2), at(6, 7, notHeld, 1)}},
		"a stale holder's write after the next one's": {false, []porcupine.Operation{at(1, 2, wrote, 2), at(3, 4, wrote, 1)}},
		"a stale holder's write turned away":          {true, []porcupine.Operation{at(1, 2, wrote, 2), at(3, 4, turnedAway, 1)}},
		"the present holder's write turned away":      {false, []porcupine.Operation{at(1, 2, wrote, 1), at(3, 4, turnedAway, 2)}},
		"another after the server lost its data":      {true, []porcupine.Operation{at(1, 2, acquired, 1), at(3, 4, flushed, 0), at(5, 6, acquired, 2)}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, porcupine.CheckOperations(model, tc.history))
		})
	}
}

func TestPruned_UnansweredAcquire_KeptOnlyForRefusals(t *testing.T) {
	unanswered := func(call, end, n int64) []porcupine.Operation {
		return []porcupine.Operation{at(call, end, perhaps, n), at(call, end, ended, n)}
	}
	refusal, grant := at(5, 6, refused, 0), at(1, 2, acquired, 7)
	for name, tc := range map[string]struct{ all, want []porcupine.Operation }{
		"it may explain a refusal":    {append(unanswered(1, 5, -1), refusal), append(unanswered(1, 5, -1), refusal)},
		"it was over before one came": {append(unanswered(1, 4, -1), refusal, grant), []porcupine.Operation{refusal, grant}},
		"so many may explain it that it says nothing": {
			slices.Concat(unanswered(1, 9, -1), unanswered(1, 9, -2), unanswered(1, 9, -3), []porcupine.Operation{refusal, grant}),
			[]porcupine.Operation{grant},
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, pruned(tc.all)) })
	}
}
