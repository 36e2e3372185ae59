package stock

import (
	"context"
	"strings"
)

// An operator may take a right from the user of Redis while the program runs. A script that may not use one of its
// commands ends in its middle, and its writes stay. A unit may then be out of its counter and in no hold. So the coupon
// counts as not loaded from then on, and is loaded again, in another epoch.

// epochUnknown is the epoch of a coupon in which a script was cut short that names no epoch. The next look takes the
// epoch that it sees.
const epochUnknown = int64(0)

// isHalfDone reports whether a script was cut short in this epoch of the coupon, or may have
// been.
func (s *Stock) isHalfDone(couponID, epoch int64) bool {
	noted, is := s.halfDone.Load(couponID)
	of, _ := noted.(int64)
	switch {
	case !is:
		return false
	case of == epochUnknown:
		s.halfDone.CompareAndSwap(couponID, epochUnknown, epoch)
	case of < epoch: // the coupon was loaded again since
		s.halfDone.CompareAndDelete(couponID, noted)
		return false
	}
	return true
}

// noteHalfDone notes that a script was cut short in an epoch, and reports whether that is the first note of the coupon.
func (s *Stock) noteHalfDone(couponID, epoch int64) (first bool) {
	for {
		noted, known := s.halfDone.LoadOrStore(couponID, epoch)
		of, _ := noted.(int64)
		switch {
		case !known:
			return true
		case of == epoch || of == epochUnknown || epoch != epochUnknown && epoch < of: // the note stays
			return false
		case s.halfDone.CompareAndSwap(couponID, noted, epoch):
			return false
		}
	}
}

// cutShort notes an error that a script may have met in its middle. Some errors stop a script at its first write, so
// nothing was written: the memory is full, the server is a replica, or it cannot write its files.
func (s *Stock) cutShort(ctx context.Context, couponID, epoch int64, err error) {
	text := err.Error()
	if !strings.Contains(text, "user_script") {
		return
	}
	for _, whole := range []string{"OOM", "MISCONF", "READONLY", "NOREPLICAS"} {
		if strings.Contains(text, whole) {
			return
		}
	}
	s.noteAsked(couponID)
	if s.noteHalfDone(couponID, epoch) {
		s.log.WarnContext(ctx, "a script was cut short: the stock will be loaded again", "coupon", couponID, "error", err)
	}
}
