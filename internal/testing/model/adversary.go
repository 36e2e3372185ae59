package model

// crash kills the instance that runs attempt i. What it has sent may still be on its
// way; what it has begun in the database is rolled back, unless COMMIT was sent.
func (m *Sale) crash(s State, i int8, tell func(Action, State)) {
	at := s.tries[i].at
	if s.left.Crashes == 0 || at == idle || at >= done {
		return
	}
	s.left.Crashes--
	act := Action{Who: m.name(i), Did: "is killed", Fault: true}
	kill := func(tx stage, late call, said string) {
		t := s
		a := &t.tries[i]
		a.at, a.got = dead, unsure
		if a.tx != doubtful {
			a.tx = tx
		}
		if late.at != 0 {
			a.late = late
		}
		m.forget(&t, i)
		act.Said = said
		tell(act, t)
	}
	kill(noTx, call{}, "")
	switch {
	case at == committing:
		kill(doubtful, call{}, "COMMIT is on its way")
	case m.call(&s, i).shard >= 0 && commandAt(at) && s.tries[i].late.at == 0:
		c := m.call(&s, i)
		kill(noTx, c, c.String()+" is on its way")
	}
}

func commandAt(at place) bool {
	return at >= reserving && at <= unmarking && at != looking || at == finishing || at == finishingHome
}

// disasters are what Redis forgets: all of a shard, or what its replica had not heard
// when the master died.
func (m *Sale) disasters(s State, tell func(Action, State)) {
	for k := range s.redis {
		act := Action{Who: "Redis", Fault: true}
		if s.left.Wipes > 0 {
			t := s
			t.left.Wipes--
			t.redis[k] = shard{}
			act.Did = "loses all data" + of[k]
			tell(act, t)
		}
		if s.left.Failovers > 0 && !s.lags[k] {
			t := s
			t.left.Failovers--
			t.replica[k], t.lags[k] = s.redis[k], true
			act.Did = "does not replicate what comes now" + of[k]
			tell(act, t)
		}
		if s.lags[k] {
			t := s
			t.redis[k] = s.replica[k]
			t.redis[k].moved = s.redis[k].moved || s.replica[k] != s.redis[k]
			t.replica[k], t.lags[k] = shard{}, false
			act.Did = "fails over to the old data" + of[k]
			tell(act, t)
			t.redis[k] = s.redis[k]
			tell(Action{Who: "Redis", Did: "replicates again" + of[k]}, t)
		}
		if m.has(ExpiringHolds) {
			m.expireHold(s, k, tell)
		}
	}
}

var of = [shards]string{" of shard 0", " of shard 1"}

func (m *Sale) expireHold(s State, k int, tell func(Action, State)) {
	for o, h := range s.redis[k].holds {
		if h.kind != none {
			t := s
			t.redis[k].holds[o] = hold{}
			tell(Action{Who: "Redis", Did: "lets a hold" + where[k] + " expire"}, t)
		}
	}
}
