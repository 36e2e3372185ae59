package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/tools/lab"
	"example.com/seckill/internal/tools/lab/harness"
	"example.com/seckill/internal/tools/lab/report"
)

func TestAsk_EveryRecordedExperiment_HasQuestion(t *testing.T) {
	for _, e := range lab.All() {
		t.Run(e.Name, func(t *testing.T) {
			r, err := lab.Recording(e.Name)
			require.NoError(t, err)
			q, ok := report.Ask(r)
			require.True(t, ok)
			require.True(t, r.Cases[q.Case].Wrong)
			require.Contains(t, q.Choices, q.Answer)
			require.GreaterOrEqual(t, len(q.Choices), 3)
			require.True(t, slices.IsSorted(q.Choices))
			require.Len(t, slices.Compact(slices.Clone(q.Choices)), len(q.Choices))
			if report.Many(r) {
				require.Empty(t, q.Steps)
				return
			}
			require.Len(t, q.Steps, len(r.Cases[q.Case].Events))
			for n, step := range q.Steps {
				require.Equal(t, r.Cases[q.Case].Events[n].Anomaly != nil, strings.Contains(step.EN, "Here it goes wrong: "))
			}
		})
	}
}

func TestAsk_RecordedSchedule_DescribesPlannedTurns(t *testing.T) {
	r, err := lab.Recording("unlock-before-commit")
	require.NoError(t, err)
	q, ok := report.Ask(r)
	require.True(t, ok)
	require.Equal(t, int64(2), q.Answer)
	require.Equal(t, []int64{1, 2, 3, 4}, q.Choices)
	var en, zh []string
	for _, turn := range q.Schedule {
		en, zh = append(en, turn.EN), append(zh, turn.ZH)
	}
	require.Equal(t, []string{"first tap, stopped before `COMMIT`", "second tap, to its end", "first tap, to its end"}, en,
		"the fourth turn moves something in the right case alone")
	require.Equal(t, "第一次点击，停在 `COMMIT` 之前", zh[0])
	require.Equal(t, "The user may buy one. How many orders will the two taps make?", q.Text.EN)

	r, err = lab.Recording("hot-row-last")
	require.NoError(t, err)
	q, _ = report.Ask(r)
	require.Equal(t, "user 42, one step", q.Schedule[1].EN)

	silent := r
	silent.Asks = harness.Text{}
	_, ok = report.Ask(silent)
	require.False(t, ok, "a question is never made of a rule's name")
	r.Cases = r.Cases[1:]
	_, ok = report.Ask(r)
	require.False(t, ok, "without a wrong case there is nothing to guess")
}

// Each experiment has a schedule for all of its cases. The question tells the turns that moved something in the wrong
// one, and each step of that case belongs to a turn or to the end.
func TestAsk_TurnThatMovesNothing_IsNotTold(t *testing.T) {
	for name, turns := range map[string]int{
		"unlock-before-commit": 3, "read-before-lock": 4, "stale-holder": 3, "for-update-missing-row": 5,
		"after-lock-wait-timeout": 5, "hot-row-last": 5, "foreign-key-hot-row": 5, "failover": 6,
	} {
		r, err := lab.Recording(name)
		require.NoError(t, err)
		q, ok := report.Ask(r)
		require.True(t, ok)
		require.Len(t, q.Schedule, turns, "%s: %v", name, q.Schedule)
	}
	waits := sample()
	waits.Asks = harness.NewText("How many?", "几个？")
	c := &waits.Cases[0]
	c.Actors, c.Spans = []string{"one", "two"}, nil
	c.Schedule = []harness.Planned{{Actor: "one", Steps: 1}, {Actor: "two"}, {Actor: "two"}, {Actor: "one", Until: []string{"COMMIT"}}, {Actor: "two"}}
	c.Events = []harness.Event{
		{N: 0, Actor: "one", What: "LOCK"},
		{N: 1, Actor: "two", What: "LOCK", Waits: true},
		{N: 2, Actor: "one", What: "UNLOCK"},
		{N: 3, Actor: "two", What: "LOCK"},
		{N: 4, Actor: "two", What: "UNLOCK"},
		{N: 5, Actor: "one", What: "COMMIT"},
	}
	q, ok := report.Ask(waits)
	require.True(t, ok)
	var told []string
	for _, turn := range q.Schedule {
		told = append(told, turn.EN)
	}
	require.Equal(t, []string{
		"one, one step", "two, to its end", "one, stopped before `COMMIT`", "two, to its end", "then each to its end",
	}, told, "the third turn finds its actor waiting, and the fourth ends its wait")
}
