package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/tools/lab"
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
	require.Equal(t, []string{"first tap, up to `COMMIT`", "second tap, to its end", "first tap, to its end", "second tap, to its end"}, en)
	require.Equal(t, "第一次点击，到 `COMMIT` 之前", zh[0])
	require.Equal(t, "What will be counted in the end: orders of a user who may have one? (at most 1)", q.Text.EN)

	r, err = lab.Recording("hot-row-last")
	require.NoError(t, err)
	q, _ = report.Ask(r)
	require.Equal(t, "user 42, one step", q.Schedule[1].EN)

	r.Cases = r.Cases[1:]
	_, ok = report.Ask(r)
	require.False(t, ok, "without a wrong case there is nothing to guess")
}
