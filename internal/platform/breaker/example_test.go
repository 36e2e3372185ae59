package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"example.com/seckill/internal/platform/breaker"
)

// Three calls in a row without a response open the circuit. A call is then refused without
// being made, until a probe succeeds.
func ExampleBreaker_Do() {
	ctx := context.Background()
	errTimeout := errors.New("i/o timeout")
	b := breaker.New(breaker.Options{
		Name:         "redis",
		CallTimeout:  time.Second,
		ProbeTimeout: time.Second,
		Outcome: func(err error) breaker.Outcome {
			if errors.Is(err, errTimeout) {
				return breaker.Unresponsive
			}
			return breaker.Responsive
		},
		Probe: func(context.Context) error { return errTimeout }, // the server is still down
		Log:   slog.New(slog.DiscardHandler),
	})
	defer b.Close()

	for range 4 {
		fmt.Println(b.Do(ctx, func() error { return errTimeout }))
	}
	// Output:
	// i/o timeout
	// i/o timeout
	// i/o timeout
	// redis: circuit open: backend not responding
}
