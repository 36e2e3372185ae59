package cli

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSignals_FirstThenSecond_StopGracefullyThenAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		serving  bool
		send     []os.Signal
		together bool // not a second apart
		ended    bool // in order
		undone   []string
	}{
		"one":                              {send: []os.Signal{os.Interrupt}, ended: true},
		"SIGTERM":                          {send: []os.Signal{syscall.SIGTERM}, ended: true},
		"two":                              {send: []os.Signal{os.Interrupt, syscall.SIGTERM}, ended: true, undone: []string{"what was under way is left as it was"}},
		"the same to process and group":    {send: []os.Signal{syscall.SIGTERM, syscall.SIGTERM}, together: true, ended: true},
		"a closed terminal":                {send: []os.Signal{syscall.SIGHUP}, ended: true},
		"a closed terminal of serve":       {serving: true, send: []os.Signal{syscall.SIGHUP, syscall.SIGHUP}},
		"two, and a closed terminal first": {serving: true, send: []os.Signal{syscall.SIGHUP, os.Interrupt, os.Interrupt}, ended: true, undone: []string{"3 requests"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s Stops
				if c.serving {
					s.serving.Store(true)
					undone := func() string { return "3 requests" }
					s.undone.Store(&undone)
				}
				signals := make(chan os.Signal)
				defer close(signals)
				var undone []string
				ctx := s.Watch(t.Context(), signals, func(text string) { undone = append(undone, text) })
				for _, one := range c.send {
					signals <- one
					if !c.together {
						time.Sleep(time.Second)
					}
					synctest.Wait()
				}
				require.Equal(t, c.ended, ctx.Err() != nil)
				require.Equal(t, c.undone, undone)
			})
		})
	}
}
