package model

import "slices"

// Versions of the program are numbered as the layouts that they write into a shard's meta when they
// load it. Each works with its own layout and the one before. What differs is the text of a hold:
//
//	version  writes holds as  reads
//	0        old text         old
//	1        old text         both
//	2        new text         both
//
// So what version 2 writes is read by its neighbour, and version 0 must never be beside it on one
// shard: it takes a hold in the new text for one that no attempt shares.

// fleet lists the versions that there are at once. Reconciler, relays and loader are of any of them.
func (m *Sale) fleet() []uint8 {
	if m.Versions == nil {
		return []uint8{0}
	}
	all := []uint8{m.Versions[0]}
	for _, v := range m.Versions {
		if v != all[0] {
			return append(all, v)
		}
	}
	return all
}

// version is that of the instance on which attempt i runs.
func (m *Sale) version(i int8) uint8 {
	if m.Versions == nil {
		return 0
	}
	return m.Versions[i]
}

// oldest is the oldest layout that a version works with.
func oldest(v uint8) uint8 { return max(v, 1) - 1 }

// newer is layout.lua: what each script of the version answers to a shard that it must leave as it is.
func (m *Sale) newer(sh *shard, v uint8) word {
	if sh.layout > v && !m.has(NewerUsed) {
		return newerLayout
	}
	return ""
}

// refuses is that of the scripts which use what is loaded: what is too old is left to the loader.
func (m *Sale) refuses(sh *shard, v uint8) word {
	switch {
	case m.newer(sh, v) != "":
		return newerLayout
	case sh.layout < oldest(v) && !m.has(OlderUsed) && !m.has(OlderUsedByOrders):
		return olderLayout
	}
	return ""
}

// tooOld reports whether a version has to load the shards again, and tooNew whether it must not.
func (m *Sale) tooOld(s *State, v uint8) bool {
	return slices.ContainsFunc(s.redis[:], func(sh shard) bool { return sh.layout < oldest(v) && !m.has(OlderUsed) })
}

func (m *Sale) tooNew(s *State, v uint8) bool {
	return slices.ContainsFunc(s.redis[:], func(sh shard) bool { return m.newer(&sh, v) != "" })
}

// text is how a version writes a hold: 0 is the old one, 1 the new.
func (m *Sale) text(v uint8) uint8 {
	if v >= 2 || v == 1 && m.has(TextInOneRelease) {
		return 1
	}
	return 0
}

// sharesAs are the shares of a hold as a version reads them.
func (h hold) sharesAs(v uint8) set {
	if h.text == 1 && v == 0 {
		return 0
	}
	return h.shares
}
