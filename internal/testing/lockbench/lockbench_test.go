package main

import (
	"testing"
	"time"
)

func TestCommandCounter_AnyChunks_CountsAll(t *testing.T) {
	text := "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n" + "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9\r\na\r\n*1\r\n$0\r\n" + "*1\r\n$0\r\n\r\n"
	for size := 1; size <= len(text); size++ {
		w := &commandCounter{}
		c := &counted{w: w}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			c.read([]byte(rest[:n]))
			rest = rest[n:]
		}
		if got := w.sent.Load(); got != 3 {
			t.Errorf("in pieces of %d: %d commands, not 3", size, got)
		}
	}
}

func TestGate_TwoHolders_IsNoticed(t *testing.T) {
	var g gate
	g.pass(func() {})
	g.pass(func() {})
	if n := g.overlaps.Load(); n != 0 {
		t.Errorf("%d overlaps of sections that followed each other", n)
	}
	g.pass(func() { g.pass(func() {}) })
	if n := g.overlaps.Load(); n != 1 {
		t.Errorf("%d overlaps, not 1", n)
	}
}

func TestQuantile_AnySample_IsAMeasuredValue(t *testing.T) {
	all := []time.Duration{5, 1, 4, 2, 3}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 3, 0.99: 5, 1: 5} {
		if got := quantile(all, q); got != want {
			t.Errorf("%v: %d, not %d", q, got, want)
		}
	}
	if quantile([]time.Duration{}, 0.5) != 0 {
		t.Error("of nothing")
	}
}

func TestVerdict_Overlaps_AreReported(t *testing.T) {
	r := &report{Rows: []row{{Name: "a", Sections: 9}}}
	if err := r.verdict(); err != nil {
		t.Error(err)
	}
	r.Rows[0].Overlaps = 1
	if r.verdict() == nil {
		t.Error("no error")
	}
}
