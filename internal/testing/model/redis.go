package model

// call is a command to a shard, with all arguments of the script.
type call struct {
	at    place // 0: none
	epoch uint8
	order int8
	shard int8
	sold  bool // CONFIRM and not RELEASE
}

var commands = map[place]string{
	reserving: "RESERVE at home", marking: "RESERVE at home, or mark", lending: "LEND at the sibling",
	unmarking: "RELEASE of the mark",
}

func (c call) String() string {
	switch {
	case c.at < finishing:
		return commands[c.at]
	case c.sold:
		return "CONFIRM" + where[c.shard]
	}
	return "RELEASE" + where[c.shard]
}

var where = [shards]string{" at shard 0", " at shard 1"}

// call returns the next command of attempt i.
func (m *Sale) call(s *State, i int8) call {
	a := s.tries[i]
	c := call{at: a.at, epoch: a.epoch, order: i, shard: m.home(i)}
	switch a.at {
	case lending:
		c.shard = 1 - m.home(i)
	case finishing:
		c.shard = a.shard
		fallthrough
	case finishingHome:
		c.order = a.order
		c.sold = a.got == sold && a.result == a.order
	default: // at home
	}
	return c
}

// perform runs the script of a command that attempt i sent.
func (m *Sale) perform(s *State, i int8, c call) (word, int8) {
	sh := &s.redis[c.shard]
	refused := m.refuses(sh, m.version(i))
	switch {
	case refused != "":
		return refused, 0
	case c.at == reserving:
		return m.reserve(sh, c.epoch, i, false)
	case c.at == marking:
		return m.reserve(sh, c.epoch, i, true)
	case c.at == lending:
		return m.lend(sh, c.epoch, i), i
	case c.sold:
		return m.confirm(sh, c.epoch, c.order), c.order
	}
	return m.release(sh, c.epoch, c.order, i), c.order
}

// callRedis tells every possible result of the attempt's next command.
func (m *Sale) callRedis(s State, i int8, tell func(Action, State)) {
	c := m.call(&s, i)
	a := Action{Who: m.name(i), Did: c.String()}

	t := s
	said, o := m.perform(&t, i, c)
	m.heard(&t, i, said, o)
	a.Said = string(said)
	tell(a, t)

	if s.left.Losses == 0 {
		return
	}
	s.left.Losses--
	a.Fault = true
	t = s
	m.perform(&t, i, c)
	a.Said = "done, the answer is lost: sent again"
	t.tries[i].twice = true
	tell(a, t)
	m.unheard(&t, i)
	a.Said = "done, the answer is lost"
	tell(a, t)
	if s.tries[i].late == (call{}) {
		t = s
		t.tries[i].late = c
		t.tries[i].twice = true
		a.Said = "on its way for long: sent again"
		tell(a, t)
		m.unheard(&t, i)
		a.Said = "on its way for long: given up"
		tell(a, t)
	}
}

// arrivals tells the possible ends of a command that was on its way for longer than its sender waited.
func (m *Sale) arrivals(s State, i int8, tell func(Action, State)) {
	c := s.tries[i].late
	if c.at == 0 {
		return
	}
	s.tries[i].late = call{}
	tell(Action{Who: m.name(i), Did: c.String(), Said: "never arrives"}, s)
	said, _ := m.perform(&s, i, c)
	tell(Action{Who: m.name(i), Did: c.String(), Said: "arrives late: " + string(said)}, s)
}

// heard continues the attempt with the answer of a command. After LEND and the RELEASE of a mark, the attempt
// may continue under the name that it had in them. If the attempt sent the command twice, the first one may
// still arrive, and the shard would take it for a new command. The attempt therefore ends there.
func (m *Sale) heard(s *State, i int8, said word, o int8) {
	a := &s.tries[i]
	twice := a.twice && !m.has(SentAgain)
	a.twice = false
	switch a.at {
	case reserving, marking:
		m.reserved(a, said, o, m.home(i))
	case lending:
		if said == held {
			a.at, a.order, a.shard = locking, o, 1-m.home(i)
			break
		}
		if said == empty && twice {
			m.refuse(a, refused)
			break
		}
		a.at = unmarking
		if said != empty {
			a.got = refused
		}
		if said == stale {
			a.got = staleEpoch
		}
	case unmarking:
		switch {
		case a.got != unsure:
			m.refuse(a, a.got)
		case twice:
			m.refuse(a, refused)
		default:
			a.at = looking
		}
	case finishing:
		if a.at = finishingHome; a.shard == m.home(i) {
			m.finished(s, i)
		}
	default: // finishingHome
		m.finished(s, i)
	}
	if a.at == locking {
		m.beforeLock(s, i)
	}
}

// reserved continues the attempt with the answer of reserve.lua.
func (m *Sale) reserved(a *attempt, said word, o, home int8) {
	switch {
	case said == held:
		a.at, a.order, a.shard = locking, o, home
	case said == marked && a.at == marking:
		a.at = lending
	case said == empty && m.has(SoldOutAtHome):
		a.saw = a.saw.with(home)
		a.at, a.got = recalling, soldOut
	case said == empty:
		a.at = looking
	case said == stale:
		m.refuse(a, staleEpoch)
	default:
		m.refuse(a, refused)
	}
}

// refuse ends an attempt that has no hold. After a stale epoch the attempt starts once more.
func (m *Sale) refuse(a *attempt, why outcome) {
	if why == staleEpoch && !a.asked {
		*a = attempt{at: idle, asked: true, late: a.late}
		return
	}
	a.at, a.got = recalling, why
	if why == staleEpoch {
		a.got = refused
	}
}

// unheard continues the attempt without an answer. It leaves a hold that it cannot end to the reconciler. The
// same holds for a hold that no process knows of.
func (m *Sale) unheard(s *State, i int8) {
	a := &s.tries[i]
	a.twice = false
	switch a.at {
	case finishing, finishingHome:
		m.heard(s, i, "", 0)
	default:
		m.refuse(a, refused)
	}
}

// finished continues the attempt after its hold has been confirmed, released or left.
func (m *Sale) finished(s *State, i int8) {
	a := &s.tries[i]
	if a.got == sold {
		m.answer(s, i)
		return
	}
	m.refuse(a, a.got)
}
