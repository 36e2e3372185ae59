package model

import "slices"

// Versions of the program are numbered by the layout that they write into a shard's meta when they load it.
// Each version works with its own layout and the one before. The layouts differ in the text of a hold:
//
//	version  writes holds as  reads
//	0        old text         old
//	1        old text         both
//	2        new text         both
//
// Version 1 can therefore read the holds of version 2. Version 0 must never work with version 2 on one shard:
// it reads a hold in the new text as a hold that no attempt shares.

// fleet returns the versions that run at the same time. The reconciler, the relays and the loader may have any
// of them.
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

// version returns the version of the instance on which attempt i runs.
func (m *Sale) version(i int8) uint8 {
	if m.Versions == nil {
		return 0
	}
	return m.Versions[i]
}

// oldest returns the oldest layout that a version works with.
func oldest(v uint8) uint8 { return max(v, 1) - 1 }

// newer models layout.lua. It returns the answer of each script of version v to a shard that the script must
// not change, or "".
func (m *Sale) newer(sh *shard, v uint8) word {
	if sh.layout > v && !m.has(NewerUsed) {
		return newerLayout
	}
	return ""
}

// refuses returns the answer of the scripts that use loaded data, or "". They leave a shard with an older
// layout to the loader.
func (m *Sale) refuses(sh *shard, v uint8) word {
	switch {
	case m.newer(sh, v) != "":
		return newerLayout
	case sh.layout < oldest(v) && !m.has(OlderUsed) && !m.has(OlderUsedByOrders):
		return olderLayout
	}
	return ""
}

// tooOld reports whether a version has to load the shards again. tooNew reports whether it must not load them.
func (m *Sale) tooOld(s *State, v uint8) bool {
	return slices.ContainsFunc(s.redis[:], func(sh shard) bool { return sh.layout < oldest(v) && !m.has(OlderUsed) })
}

func (m *Sale) tooNew(s *State, v uint8) bool {
	return slices.ContainsFunc(s.redis[:], func(sh shard) bool { return m.newer(&sh, v) != "" })
}

// text returns the text in which a version writes a hold: 0 is the old text, 1 the new text.
func (m *Sale) text(v uint8) uint8 {
	if v >= 2 || v == 1 && m.has(TextInOneRelease) {
		return 1
	}
	return 0
}

// sharesAs returns the shares of a hold as a version reads them.
func (h hold) sharesAs(v uint8) set {
	if h.text == 1 && v == 0 {
		return 0
	}
	return h.shares
}
