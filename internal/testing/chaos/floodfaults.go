package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"example.com/seckill/internal/tools/servers"
)

// floodFaults are floods that buyers must not feel. A tap is one request here: what had to be sent again
// was not served.
func floodFaults() []Fault {
	all := make([]Fault, 0, len(floods))
	for _, f := range floods {
		harm := func(ctx context.Context, r *round) (bool, error) { return r.floodBeside(ctx, f) }
		all = append(all, Fault{Name: "flood:" + f.name, kind: plain, once: true, plenty: true, harm: harm})
	}
	return all
}

const (
	calmPercent   = 75 // of a third of the units are sold before the flood comes
	leastServed   = 95 // of a hundred buyers beside it
	healthEvery   = 50 * time.Millisecond
	floodRises    = 2 * time.Second  // at most, until buyers come again
	floodMost     = 15 * time.Second // then it ends, and buyers that were shut out are served
	floodLasts    = time.Second      // at least: a slow body takes so long
	honestToRates = 10               // looks at nothing, for each tap of the calm sale
)

// Beside is how honest buyers fared beside a flood.
type Beside struct {
	Attackers int           `json:"attackers"` // at once
	Reached   int64         `json:"reached"`   // connections or looks that a flood got
	Taps      int           `json:"taps"`      // of buyers, beside it
	Served    float64       `json:"served"`    // of a hundred, at their first request
	Calm      time.Duration `json:"calm_p99_ns"`
	P99       time.Duration `json:"p99_ns"`
	Health    time.Duration `json:"health_ns"` // the slowest answer of /healthz and /readyz
	Memory    int64         `json:"memory"`    // the peak of an instance, in bytes
}

// floodBeside lets a flood come in the midst of the sale, and buyers again when it is there. It judges what
// it has done to them.
func (r *round) floodBeside(ctx context.Context, kind floodKind) (_ bool, err error) {
	r.onTheWay(ctx, calmPercent)
	r.turnstile <- struct{}{} // no buyer passes until the flood is there
	calm := r.rec.turn()
	b := Beside{Attackers: r.attackers, Calm: calm.p99()}
	f, err := r.startFlood(kind, time.Duration(float64(r.attackers)/(honestToRates*calm.rate())*float64(time.Second)))
	if err != nil {
		<-r.turnstile
		return false, err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	watched, end := context.WithCancel(ctx)
	health := make(chan time.Duration, 1)
	go func() { health <- r.watchHealth(watched) }()
	for rising := time.Now(); f.reached.Load() < int64(r.attackers) && time.Since(rising) < floodRises; {
		if !sleep(ctx, time.Millisecond) {
			break
		}
	}
	r.rec.turn()
	<-r.turnstile
	least := time.After(floodLasts)
	select {
	case <-r.done:
	case <-time.After(floodMost):
	case <-ctx.Done():
	}
	<-least
	end()
	b.Health = <-health
	if err := f.end(); err != nil { // all that it got is known then
		return false, err
	}
	loud := r.rec.turn()
	b.Reached, b.Taps, b.Served, b.P99 = f.reached.Load(), len(loud.took), loud.served(), loud.p99()
	for _, i := range r.env.fleet {
		peak, err := servers.PeakMemory(i.now().PID())
		if err != nil {
			return false, fmt.Errorf("the memory of %s: %w", i.name, err)
		}
		b.Memory = max(b.Memory, peak)
	}
	if b.Served < leastServed {
		r.rec.problem("of %d buyers beside the flood %.1f %% were served at once, and should be %d %%", b.Taps, b.Served, leastServed)
	}
	r.beside = &b
	return b.Reached > 0, ctx.Err()
}

// watchHealth asks both instances how they are, and what a visitor asks, until ctx ends. It returns the
// slowest answer of their health.
func (r *round) watchHealth(ctx context.Context) (slowest time.Duration) {
	for sleep(ctx, healthEvery) {
		for _, i := range r.env.fleet {
			for _, url := range []string{i.now().Admin + "/healthz", i.now().Admin + "/readyz", i.now().URL + "/api/v1/coupons/" + r.coupon} {
				began := time.Now()
				status, _, err := servers.Ask(context.WithoutCancel(ctx), admins, http.MethodGet, url, "", "")
				if strings.HasPrefix(url, i.now().Admin) {
					slowest = max(slowest, time.Since(began))
				}
				if err != nil || status != http.StatusOK {
					r.rec.problem("beside the flood %s of %s was answered %d, %v", url, i.name, status, err)
				}
			}
		}
	}
	return slowest
}
