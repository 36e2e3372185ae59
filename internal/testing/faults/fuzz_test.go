package faults

import (
	"strings"
	"testing"
)

// Faults that are read are written as they were.
func FuzzFault_AnyFault_RoundTrips(f *testing.F) {
	for _, s := range []string{"commit.after:kill:1", "lock.before:delay:3/7, reserve.after:lose:2", "", ",", "x:kill:1", "commit.after:kill:0", "a:b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		all, err := Parse(s)
		if err != nil {
			return
		}
		var written []string
		for _, one := range all {
			if one.Nth < 1 || one.Every < 0 {
				t.Fatalf("%q was read as %+v", s, one)
			}
			written = append(written, one.String())
		}
		again, err := Parse(strings.Join(written, ","))
		if err != nil || len(again) != len(all) {
			t.Fatalf("%q was read as %v, and that as %v: %v", s, all, again, err)
		}
		for i := range all {
			if all[i] != again[i] {
				t.Fatalf("%v was read as %v", all[i], again[i])
			}
		}
	})
}
