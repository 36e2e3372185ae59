// Command scale loads coupons with many buyers on servers that it starts, and prints
// what that took:
//
//	go run ./internal/scale/cmd/scale [orders…]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"text/tabwriter"
	"time"

	"seckill/internal/scale"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		args = []string{"100000", "200000"}
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(out, "orders (by SQL)\tfilled in\tepoch begun\tpublished\trestored\tmemory\tothers p50\tp99\trefused\tnoted\t")
	for _, arg := range args {
		orders, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			return fmt.Errorf("orders: %w", err)
		}
		l, err := play(ctx, orders)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "%d\t%v\t%v\t%v\t%v\t%d MiB\t%v\t%v\t%d of %d\t%d\t\n", l.Orders, short(l.FillIn), short(l.Begin),
			short(l.Publish), short(l.Restore), l.Memory>>20, short(l.Others.P50), short(l.Others.P99),
			l.Others.Refused, l.Others.Orders, l.Noted)
	}
	return out.Flush() //nolint:wrapcheck // to the terminal
}

func play(ctx context.Context, orders int64) (l scale.Loading, err error) {
	e, err := scale.Open(ctx)
	if err != nil {
		return l, err
	}
	defer func() { err = firstOf(err, e.Close()) }()
	return e.PlayLoading(ctx, orders)
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func short(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
