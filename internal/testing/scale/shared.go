package scale

import (
	"fmt"
	"runtime"
	"time"
)

// machineUse is processor time since the start of the machine.
type machineUse struct {
	at     time.Time
	busy   time.Duration // of all processes
	stolen time.Duration // that the host gave to other machines
	self   time.Duration // of this process; it sends the load
}

// maxForeign is the part of the machine that other work may have while the clock is still a judge. The
// clock's bound of 2.2 leaves a tenth above twice the work.
const maxForeign = 0.05

// foreign returns the part of the machine that other work had since before, while the servers of the
// run used this processor time. It is 0 where the system does not tell.
func (u machineUse) foreign(before machineUse, servers time.Duration) float64 {
	busy, stolen := u.busy-before.busy, u.stolen-before.stolen
	whole := u.at.Sub(before.at) * time.Duration(runtime.NumCPU())
	if busy <= 0 || whole <= 0 {
		return 0
	}
	return over(max(0, busy-servers-(u.self-before.self))+stolen, whole)
}

// foreign is the larger part that other work had in the phase, with half or with all of the buyers.
func (p pair) foreign() float64 { return max(p.half.Foreign, p.whole.Foreign) }

// judgedBy tells what the growth of the phase is judged by.
func (r *Report) judgedBy(p pair) string {
	switch {
	case r.Busy:
		return "judged by processor time, because of -busy"
	case p.foreign() > maxForeign:
		return fmt.Sprintf("judged by processor time, because other work had %.0f %% of the machine", 100*p.foreign())
	default:
		return "judged by the clock: -busy judges by processor time"
	}
}

// sharedRemark tells which phases are judged by processor time because the machine was shared.
func (r *Report) sharedRemark() (all []string) {
	for _, p := range r.pairs() {
		if !r.Busy && p.foreign() > maxForeign {
			all = append(all, fmt.Sprintf("%s: the machine was shared, other work had %.0f %% of it. Its growth is judged "+
				"by processor time (-busy does so for every phase).", p.whole.Phase, 100*p.foreign()))
		}
	}
	return all
}
