package preflight

import (
	"fmt"
	"time"

	"example.com/seckill/internal/platform/clock"
)

const (
	// ClockWarning is how far clocks may be apart before a warning.
	ClockWarning = time.Second
	// ClockRefused is how far clocks may be apart before an instance serves no more.
	ClockRefused = 5 * time.Second
)

// Clock judges how far a server's clock is from the instance's own.
func Clock(r clock.Reading) Finding {
	f := Finding{Server: r.Server, Name: "clock", Found: fmt.Sprintf("this machine's clock is %s (± %s)",
		ahead(r.Ahead), r.Within.Round(100*time.Microsecond))}
	switch apart := r.Apart(); {
	case apart > ClockRefused:
		f.Level = Refused
	case apart > ClockWarning:
		f.Level = Warning
	default:
		return f
	}
	f.Do = "let both be set by the same NTP servers"
	return f
}

func ahead(d time.Duration) string {
	if d = d.Round(time.Millisecond); d < 0 {
		return (-d).String() + " behind"
	}
	return d.String() + " ahead"
}
