package model

// word is the first word of a script's answer.
type word string

const (
	held      word = "HELD"
	marked    word = "MARKED"
	notLoaded word = "NOTLOADED"
	stale     word = "STALE"
	duplicate word = "DUPLICATE"
	busy      word = "BUSY"
	limit     word = "LIMIT"
	empty     word = "EMPTY"
	okay      word = "OK"
	nothing   word = "NONE"
	shared    word = "SHARED"
	unmarked  word = "UNMARKED"
	contained word = "CONTAINED"
	older     word = "OLDER"
	already   word = "BEGUN"
	torn      word = "TORN"

	newerLayout word = "NEWERLAYOUT"
	olderLayout word = "OLDERLAYOUT"
)

// reserve is reserve.lua: it answers with the order that the unit is for.
func (m *Sale) reserve(sh *shard, epoch uint8, i int8, borrow bool) (word, int8) {
	u, r, v := m.user(i), m.request(i), m.version(i)
	switch {
	case !sh.open:
		return notLoaded, 0
	case sh.epoch != epoch:
		return stale, 0
	}
	if o := sh.known[r] - 1; o >= 0 && !m.has(ReserveNotByRequest) {
		h := &sh.holds[o]
		shares := h.sharesAs(v)
		switch {
		case h.kind == none:
			return duplicate, o
		case h.kind == mark && shares.has(i):
			return marked, o
		case h.kind == mark:
			return busy, o
		}
		*h = hold{h.kind, shares.with(i), m.text(v)}
		return held, o
	}
	switch {
	case m.has(NoCount):
	case sh.bought[u] >= m.Limit:
		return limit, 0
	case sh.bought[u]+sh.opens[u] >= m.Limit:
		return busy, 0
	}
	as, answer := own, held
	if sh.units <= 0 {
		if !borrow {
			return empty, 0
		}
		as, answer = mark, marked
	} else {
		sh.units--
	}
	sh.holds[i] = hold{as, set(0).with(i), m.text(v)}
	sh.known[r] = i + 1
	sh.opens[u]++
	return answer, i
}

// lend is lend.lua.
func (m *Sale) lend(sh *shard, epoch uint8, i int8) word {
	switch {
	case !sh.open:
		return notLoaded
	case sh.epoch != epoch:
		return stale
	case sh.holds[i].kind != none:
		return held
	case sh.known[m.request(i)] == i+1:
		return duplicate
	case sh.units <= 0:
		return empty
	}
	sh.units--
	sh.holds[i] = hold{lent, set(0).with(i), m.text(m.version(i))}
	sh.known[m.request(i)] = i + 1
	return held
}

// confirm is confirm.lua.
func (m *Sale) confirm(sh *shard, epoch uint8, o int8) word {
	h := sh.holds[o]
	switch {
	case sh.epoch != epoch:
		return stale
	case h.kind == none:
		return nothing
	}
	sh.holds[o] = hold{}
	if u := m.user(o); h.kind != lent {
		sh.opens[u] = max(0, sh.opens[u]-1)
		sh.bought[u]++
	}
	return okay
}

// everyone is the share of all attempts.
const everyone = -1

// release is release.lua.
func (m *Sale) release(sh *shard, epoch uint8, o, share int8) word {
	h := &sh.holds[o]
	switch {
	case sh.epoch != epoch || !sh.open:
		return stale
	case h.kind == none:
		return nothing
	}
	if share != everyone && !m.has(ReleaseForAll) {
		v := m.version(share)
		shares := h.sharesAs(v)
		if !shares.has(share) {
			return nothing
		}
		if *h = (hold{h.kind, shares.without(share), m.text(v)}); h.shares != 0 {
			return shared
		}
	}
	was := h.kind
	*h = hold{}
	sh.known[m.request(o)] = 0
	if u := m.user(o); was != lent {
		sh.opens[u] = max(0, sh.opens[u]-1)
	}
	if was == mark {
		return unmarked
	}
	sh.units++
	return okay
}

// restock is restock.lua, at the buyer's home shard.
func (m *Sale) restock(sh *shard, epoch uint8, o int8) word {
	if m.has(ReturnIgnoresEpoch) {
		epoch = sh.epoch
	}
	switch {
	case sh.epoch == 0:
		return notLoaded
	case sh.epoch > epoch:
		return contained
	case sh.epoch != epoch || !sh.open:
		return notLoaded
	case sh.returned.has(o) && !m.has(ReturnedTwice):
		return nothing
	}
	sh.returned = sh.returned.with(o)
	sh.units++
	sh.bought[m.user(o)] = max(0, sh.bought[m.user(o)]-1)
	return okay
}

// clear is clear.lua.
func (m *Sale) clear(sh *shard, v, epoch uint8, units int8) word {
	switch {
	case m.newer(sh, v) != "":
		return newerLayout
	case sh.epoch > epoch:
		return older
	case sh.epoch == epoch && !sh.moved && sh.layout >= oldest(v):
		return already
	case m.has(ReloadAdds):
		sh.epoch, sh.noted, sh.filling, sh.moved = epoch, 0, units, false
		return okay
	}
	*sh = shard{epoch: epoch, filling: units, layout: v}
	return okay
}

// note is note.lua: noted is how many users every shard has by now.
func (m *Sale) note(sh *shard, epoch uint8, noted, u, bought int8) word {
	switch {
	case sh.epoch != epoch:
		return older
	case sh.open && !m.has(ReloadAdds):
		return okay
	}
	if u != nobody && bought > 0 {
		sh.bought[u] = bought
	}
	if sh.noted != sealed {
		sh.noted = noted
	}
	return okay
}

// unclose is open.lua. A shard that has opened need not know any more how it was filled.
func (m *Sale) unclose(sh *shard, epoch uint8) word {
	switch {
	case sh.epoch > epoch:
		return older
	case sh.epoch != epoch || sh.moved || !sh.open && sh.noted != sealed:
		return torn
	case m.has(ReloadAdds):
		sh.open = true
		sh.units += sh.filling
	case !sh.open:
		sh.open = true
		sh.units = sh.filling
	}
	sh.noted, sh.filling = 0, 0
	return okay
}
