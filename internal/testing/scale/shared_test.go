package scale

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sharedReport is of a phase that took three times as long by the clock, and twice the processor time.
func sharedReport(half, whole float64) Report {
	row := func(took, cpu time.Duration, foreign float64) []Row {
		return []Row{{Phase: "audit", Items: 1, Took: took, CPU: cpu, Foreign: foreign}}
	}
	return Report{Limits: Limits{}.withDefaults(), Sales: []Sale{
		{1, row(2*time.Second, time.Second, half)}, {2, row(6*time.Second, 2*time.Second, whole)}, {1, row(2*time.Second, time.Second, 0)},
	}}
}

func TestVerdict_MachineWasShared_JudgesGrowthByProcessorTime(t *testing.T) {
	for name, r := range map[string]Report{"in a half": sharedReport(0.3, 0), "in the whole": sharedReport(0, 0.3)} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, r.Verdict())
			require.Contains(t, strings.Join(r.remarks(), "\n"), "audit: the machine was shared, other work had 30 % of it")
			r.Sales[1].Rows[0].CPU = 3 * time.Second
			require.ErrorContains(t, r.Verdict(), "3.00 times as much, above 2.20: 6s, and 3s of processor time; "+
				"judged by processor time, because other work had 30 % of the machine")
		})
	}
}

func TestVerdict_MachineWasNotShared_NamesTheFlagThatJudgesOtherwise(t *testing.T) {
	r := sharedReport(0.04, 0.05)
	require.ErrorContains(t, r.Verdict(), "judged by the clock: -busy judges by processor time")
	require.NotContains(t, strings.Join(r.remarks(), "\n"), "the machine was shared")
	r.Busy = true
	require.NoError(t, r.Verdict())
}

func TestForeignTime_ServersAndOwnProcess_AreLeftOut(t *testing.T) {
	before := machineUse{at: time.Now(), busy: time.Hour, stolen: time.Minute, self: time.Second}
	core := time.Second * time.Duration(runtime.NumCPU())
	after := func(busy, stolen, self time.Duration) machineUse {
		return machineUse{at: before.at.Add(time.Second), busy: before.busy + busy, stolen: before.stolen + stolen, self: before.self + self}
	}
	require.InDelta(t, 0, after(core, 0, core/4).foreign(before, core*3/4), 0.001, "all of it was the run's")
	require.InDelta(t, 0.5, after(core, 0, core/4).foreign(before, core/4), 0.001, "other processes had half")
	require.InDelta(t, 0.25, after(core/2, core/4, core/4).foreign(before, core/4), 0.001, "the host took a fourth")
	require.InDelta(t, 0, after(core/4, 0, core/4).foreign(before, core/4), 0.001, "ticks are coarser than processor time")
	require.Zero(t, machineUse{}.foreign(machineUse{}, time.Second), "a system that does not tell")
}
