package api

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// seenTokens remembers tokens that were verified, so that a user who taps again
// and again costs one signature. A token that expires is not remembered past that.
//
// A token has one place, by its hash, and takes it from the one that was there: what is
// remembered is bounded, and nobody waits for anybody.
type seenTokens struct {
	seed   maphash.Seed
	places [maxSeen]atomic.Pointer[verified]
}

type verified struct {
	hash    uint64
	token   string
	who     Identity
	expires time.Time
}

// maxSeen bounds what is remembered: about 5 MB.
const maxSeen = 16384

func newSeenTokens() *seenTokens { return &seenTokens{seed: maphash.MakeSeed()} }

func (t *seenTokens) get(token string, now time.Time) (Identity, bool) {
	hash := maphash.String(t.seed, token)
	v := t.places[hash%maxSeen].Load()
	if v == nil || v.hash != hash || v.token != token || !now.Before(v.expires) {
		return Identity{}, false
	}
	return v.who, true
}

func (t *seenTokens) put(token string, who Identity, expires time.Time) {
	hash := maphash.String(t.seed, token)
	t.places[hash%maxSeen].Store(&verified{hash: hash, token: token, who: who, expires: expires})
}
