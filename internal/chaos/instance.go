package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"

	"seckill/internal/faults"
	"seckill/internal/testbed/servers"
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
	cmd := exec.Command(i.program, "serve") //nolint:gosec,noctx // our own program, which outlives ctx
	cmd.Args[0] = "seckill"
	cmd.Dir = i.dir
	cmd.Env = servers.Environ(i.dir, append([]string{
		"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0", "SECKILL_LOG__FORMAT=json",
		"SECKILL_HTTP__DRAIN_DELAY=1s",
	}, i.env...)...)
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

// admins asks the second listener. It answers at once or is not there.
var admins = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// arm replaces the faults of the instance.
func (i *instance) arm(ctx context.Context, spec string) error {
	_, err := i.faults(ctx, http.MethodPut, spec)
	return err
}

// state returns what has struck since the faults were armed.
func (i *instance) state(ctx context.Context) (faults.State, error) {
	return i.faults(ctx, http.MethodGet, "")
}

func (i *instance) faults(ctx context.Context, method, body string) (faults.State, error) {
	return i.tell(ctx, method, faults.Path, body)
}

func (i *instance) tell(ctx context.Context, method, path, body string) (s faults.State, err error) {
	l := i.now()
	if l == nil || l.Ended() {
		return s, errors.New("it does not run")
	}
	req, err := http.NewRequestWithContext(ctx, method, l.Admin+path, strings.NewReader(body))
	if err != nil {
		return s, fmt.Errorf("faults of %s: %w", i.name, err)
	}
	resp, err := admins.Do(req)
	if err != nil {
		return s, fmt.Errorf("faults of %s: %w", i.name, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("faults of %s: %w", i.name, err)
	}
	return s, nil
}
