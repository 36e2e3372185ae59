package testservers

import (
	"fmt"
	"os"
	"time"

	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/tools/servers"
)

// rttVariable sets the round trip to the stores.
const rttVariable = "TEST_RTT"

// reached is a server whose clients may be led through a proxy.
type reached interface {
	Addr() string
	LeadThrough(proxy string)
}

// moveAway puts a proxy that delays every reply before a MariaDB or a Redis, if TEST_RTT is set. Other servers stay
// where they are, because their nodes tell clients their own addresses. The caller must call end.
func moveAway(server stopper) (end func(), err error) {
	var s reached
	switch one := server.(type) {
	case *servers.MariaDB:
		s = one
	case *servers.Redis:
		s = one
	default:
		return func() {}, nil
	}
	rtt, err := roundTrip()
	if err != nil || rtt == 0 {
		return func() {}, err
	}
	p, err := faultnet.New(s.Addr())
	if err != nil {
		return nil, fmt.Errorf("put a proxy before a server: %w", err)
	}
	p.Inject(faultnet.DelayReplies(rtt, 0))
	s.LeadThrough(p.Addr())
	return p.Close, nil
}

// roundTrip returns the value of TEST_RTT, 0 if it is not set.
func roundTrip() (time.Duration, error) {
	text := os.Getenv(rttVariable)
	if text == "" {
		return 0, nil
	}
	rtt, err := time.ParseDuration(text)
	if err != nil || rtt <= 0 || rtt%time.Millisecond != 0 {
		return 0, fmt.Errorf("%s=%s: not a number of whole milliseconds, as 2ms", rttVariable, text)
	}
	return rtt, nil
}
