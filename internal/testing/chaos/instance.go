package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"example.com/seckill/internal/testing/faults"
	"example.com/seckill/internal/tools/servers"
)

// instance is one `seckill serve`, which may die and be started again. A new process
// has new addresses: a port without a listener could be taken by any program.
type instance struct {
	name    string
	program string
	env     []string
	dir     string

	mu    sync.Mutex
	life  *servers.Program // nil before the first
	out   bool             // is given no new requests
	lives int
}

// start starts a process and waits until it serves.
func (i *instance) start(ctx context.Context) error {
	env, err := knownTo(ctx, i.program, i.dir, i.env)
	if err != nil {
		return fmt.Errorf("%s: %w", i.name, err)
	}
	cmd := servers.Command(context.WithoutCancel(ctx), i.dir, i.program, append([]string{
		"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0", "SECKILL_LOG__FORMAT=json",
		"SECKILL_HTTP__DRAIN_DELAY=1s",
	}, env...), "serve")
	cmd.Args[0] = "seckill"
	life, err := servers.Serve(ctx, cmd)
	if err != nil {
		return fmt.Errorf("%s: %w", i.name, err)
	}
	i.mu.Lock()
	i.life, i.out = life, false
	i.lives++
	i.mu.Unlock()
	return nil
}

func (i *instance) now() *servers.Program {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.life
}

// url is where requests go now; empty if none should.
func (i *instance) url() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.out || i.life == nil {
		return ""
	}
	return i.life.URL
}

// leave keeps new requests away, as a load balancer does with what is not ready.
func (i *instance) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.out = true
}

// end ends the process, in order if it can.
func (i *instance) end() error {
	l := i.now()
	if l == nil {
		return nil
	}
	if err := l.Stop(); err != nil {
		return fmt.Errorf("%s: %w", i.name, err)
	}
	return nil
}

// admins asks the second listener. It answers at once or is not there. What tells an instance of its faults
// is more patient, since a round without them proves nothing.
var (
	admins = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	tells  = &http.Client{Timeout: 5 * admins.Timeout, Transport: admins.Transport}
)

// arm replaces the faults of the instance.
func (i *instance) arm(ctx context.Context, spec string) error {
	_, err := i.tell(ctx, http.MethodPut, faults.Path, spec)
	return err
}

// state returns what has struck since the faults were armed.
func (i *instance) state(ctx context.Context) (faults.State, error) {
	return i.tell(ctx, http.MethodGet, faults.Path, "")
}

func (i *instance) tell(ctx context.Context, method, path, body string) (s faults.State, err error) {
	l := i.now()
	if l == nil || l.Ended() {
		return s, errors.New("it does not run")
	}
	status, text, err := servers.Ask(ctx, tells, method, l.Admin+path, "", body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d: %s", status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("faults of %s: %w", i.name, err)
	}
	return s, nil
}
