package faults

import "time"

// ClockPath is where the second listener of an instance takes how far its time of day is
// set ahead, as "-16s".
const ClockPath = Path + "/clock"

// Now is the time of day of the instance's machine, as it was set. What passes since is
// counted by the monotonic clock, which nothing sets.
func (p *Points) Now() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) }

func (p *Points) setClock(text string) error {
	by, err := time.ParseDuration(text)
	if err == nil {
		p.ahead.Store(int64(by))
	}
	return err //nolint:wrapcheck // it says what it could not read
}
