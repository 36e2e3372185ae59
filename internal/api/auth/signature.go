package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"hash"
	"sync"
)

// hmacPool keeps verifiers of one secret: a keyed state costs more to make than to use.
type hmacPool struct{ verifiers sync.Pool }

// verifier verifies one HMAC-SHA-256 signature after the other, in the same memory.
type verifier struct {
	hmac   hash.Hash
	text   []byte
	sum    []byte
	sent   []byte
	claims []byte
}

func newHMACPool(secret []byte) *hmacPool {
	return &hmacPool{verifiers: sync.Pool{New: func() any { return &verifier{hmac: hmac.New(sha256.New, secret)} }}}
}

func (p *hmacPool) get() *verifier { return p.verifiers.Get().(*verifier) }

func (p *hmacPool) put(v *verifier) { p.verifiers.Put(v) }

// made reports whether signature is the secret's signature of text. Signatures are compared in
// their encoded form, so each text has exactly one spelling of its signature.
func (v *verifier) made(signature, text string) bool {
	v.hmac.Reset()
	v.text = append(v.text[:0], text...)
	v.hmac.Write(v.text) // it never fails
	v.sum = v.hmac.Sum(v.sum[:0])
	v.text = strictBase64.AppendEncode(v.text[:0], v.sum)
	v.sent = append(v.sent[:0], signature...)
	return hmac.Equal(v.text, v.sent)
}

// decode returns the claims, which the next call overwrites.
func (v *verifier) decode(encoded string) (claims []byte, err error) {
	v.text = append(v.text[:0], encoded...)
	if v.claims, err = strictBase64.AppendDecode(v.claims[:0], v.text); err != nil {
		return nil, fmt.Errorf("decode the claims: %w", err)
	}
	return v.claims, nil
}
