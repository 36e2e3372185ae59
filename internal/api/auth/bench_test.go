package auth

import (
	"testing"
	"time"
)

// BenchmarkVerify is a token, read and checked.
func BenchmarkVerify(b *testing.B) {
	tokens, err := NewTokens(testSecret, time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	text, _, err := tokens.Sign(1234567, RoleUser, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tokens.Verify(text); err != nil {
			b.Fatal(err)
		}
	}
}
