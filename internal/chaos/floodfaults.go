package chaos

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"seckill/internal/testbed/servers"
)

// flood is a crowd that means no good. Its attackers come beside the honest buyers, and go on until those
// have their answers.
type flood struct {
	name   string
	attack func(ctx context.Context, a attacker) // once; it is made again and again
}

// attacker is one of a flood: it has one connection at a time.
type attacker struct {
	r    *round
	n    int
	host string // of the instance
	up   *atomic.Int64
	pace time.Duration // between two looks at nothing
}

var floods = []flood{
	{"slow-bodies", slowBody},
	{"streams", takeStream},
	{"random-ids", lookAtNothing},
	{"connections", holdSilently},
}

// floodFaults are floods that buyers must not feel. A tap is one request here: what had to be sent again
// was not served.
func floodFaults() []Fault {
	all := make([]Fault, 0, len(floods))
	for _, f := range floods {
		all = append(all, Fault{Name: "flood:" + f.name, kind: plain, once: true, plenty: true, harm: f.beside})
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
	comesLater    = 3 * time.Second  // as the longest Retry-After of what is full
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

// beside lets the flood come in the midst of the sale, and buyers again when it is there. It judges what
// it has done to them.
func (f flood) beside(ctx context.Context, r *round) (bool, error) {
	r.onTheWay(ctx, calmPercent)
	r.turnstile <- struct{}{} // no buyer passes until the flood is there
	calm := r.rec.turn()
	b := Beside{Attackers: r.attackers, Calm: calm.p99()}
	flooded, end := context.WithCancel(ctx)
	defer end()
	var up atomic.Int64
	var all sync.WaitGroup
	for n := range r.attackers {
		a := attacker{r: r, n: n, up: &up, pace: time.Duration(float64(r.attackers) / (honestToRates * calm.rate()) * float64(time.Second))}
		a.host = strings.TrimPrefix(r.env.fleet[n%instances].now().URL, "http://")
		all.Go(func() {
			for flooded.Err() == nil {
				f.attack(flooded, a)
			}
		})
	}
	all.Go(func() { b.Health = r.watchHealth(flooded) })
	for rising := time.Now(); up.Load() < int64(r.attackers) && time.Since(rising) < floodRises; {
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
	all.Wait()
	loud := r.rec.turn()
	b.Reached, b.Taps, b.Served, b.P99 = up.Load(), len(loud.took), loud.served(), loud.p99()
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
				status, err := statusOf(context.WithoutCancel(ctx), url)
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

func statusOf(ctx context.Context, url string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("ask: %w", err)
	}
	resp, err := admins.Do(req)
	if err != nil {
		return 0, fmt.Errorf("ask: %w", err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode, nil
}

// open connects from an address that few attackers share, and writes what is given. It waits for a
// moment if there is no way in.
func (a attacker) open(ctx context.Context, text string) (conn net.Conn, closed func()) {
	const perAddress, hosts = 20, 250
	block := a.n / perAddress
	from := &net.TCPAddr{IP: net.IPv4(127, 1, byte(block/hosts), byte(1+block%hosts))} //nolint:gosec // below 256
	conn, err := (&net.Dialer{LocalAddr: from, Timeout: time.Second}).DialContext(ctx, "tcp", a.host)
	if err != nil {
		_ = sleep(ctx, healthEvery)
		return nil, nil
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err == nil {
		a.up.Add(1)
	}
	return conn, func() { stop(); _ = conn.Close() }
}

// slowBody begins a purchase of one of a few accounts, and sends half of its body.
func slowBody(ctx context.Context, a attacker) {
	const accounts, first = 80, 5_000_000_000
	conn, closed := a.open(ctx, "POST /api/v1/coupons/"+a.r.coupon+"/orders HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"Authorization: Bearer "+a.r.token(first+int64(a.n%accounts), "user")+"\r\nContent-Length: 2\r\n\r\n{")
	if conn != nil {
		_, _ = io.Copy(io.Discard, conn)
		closed()
	}
}

// takeStream takes an event stream, and keeps it.
func takeStream(ctx context.Context, a attacker) {
	conn, closed := a.open(ctx, "GET /api/v1/coupons/"+a.r.coupon+"/live HTTP/1.1\r\nHost: x\r\n\r\n")
	if conn == nil {
		return
	}
	defer closed()
	from := bufio.NewReader(conn)
	if line, _ := from.ReadString('\n'); !strings.Contains(line, "200") {
		_ = sleep(ctx, comesLater) // it was told to, and comes
		return
	}
	_, _ = io.Copy(io.Discard, from)
}

// lookAtNothing asks for coupons that there are not, at its pace.
func lookAtNothing(ctx context.Context, a attacker) {
	conn, closed := a.open(ctx, "")
	if conn == nil {
		return
	}
	defer closed()
	from := bufio.NewReader(conn)
	for sleep(ctx, time.Duration(rand.Int64N(2*int64(a.pace)+1))) { //nolint:gosec // any moment will do
		id := 1_000_000 + rand.Int64N(1<<50) //nolint:gosec // any id
		if _, err := fmt.Fprintf(conn, "GET /api/v1/coupons/%d HTTP/1.1\r\nHost: x\r\n\r\n", id); err != nil {
			return
		}
		resp, err := http.ReadResponse(from, nil)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		a.up.Add(1)
	}
}

// holdSilently connects and says nothing.
func holdSilently(ctx context.Context, a attacker) {
	if conn, closed := a.open(ctx, ""); conn != nil {
		_, _ = io.Copy(io.Discard, conn)
		closed()
	}
}
