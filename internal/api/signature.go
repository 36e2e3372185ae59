package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"
)

// hmacPool computes HMAC-SHA-256 with one secret. A keyed state costs more to make than to use, so
// states are reused.
type hmacPool struct{ states sync.Pool }

type hmacState struct {
	hmac hash.Hash
	text []byte
	sum  []byte
	sent []byte
}

func newHMACPool(secret []byte) *hmacPool {
	return &hmacPool{states: sync.Pool{New: func() any { return &hmacState{hmac: hmac.New(sha256.New, secret)} }}}
}

// made reports whether signature is this secret's signature of text. Signatures are compared in
// their encoded form, so each text has exactly one spelling of its signature.
func (s *hmacPool) made(signature, text string) bool {
	state := s.states.Get().(*hmacState)
	defer s.states.Put(state)
	state.hmac.Reset()
	state.text = append(state.text[:0], text...)
	state.hmac.Write(state.text) // it never fails
	state.sum = state.hmac.Sum(state.sum[:0])
	state.text = strictBase64.AppendEncode(state.text[:0], state.sum)
	state.sent = append(state.sent[:0], signature...)
	return hmac.Equal(state.text, state.sent)
}
