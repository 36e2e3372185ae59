package config

import (
	"slices"
	"strings"
)

// ExampleSecret is the value shown in configs/seckill.yaml. It is long enough
// to pass as a secret, and it is public.
const ExampleSecret = "put-32-or-more-random-bytes-here-instead" //nolint:gosec // it is refused

// publicSecrets have been in files of this repository.
var publicSecrets = []string{ExampleSecret, "a-playground-secret-that-is-no-secret-at-all"}

// fewestBytes is the least number of different bytes in a secret: 32 random hexadecimal digits
// have as few once in some ten million times.
const fewestBytes = 8

// weakness returns why a secret of sufficient length can be guessed, or "".
func weakness(secret string) string {
	switch {
	case slices.ContainsFunc(publicSecrets, func(s string) bool { return strings.EqualFold(s, strings.TrimSpace(secret)) }):
		return "is public: it has been in an example"
	case different(secret) < fewestBytes:
		return "has too few different characters to be random"
	case period(secret) < smallestSecret && period(secret) <= len(secret)/2:
		return "repeats a shorter text"
	case longestRun(secret) > len(secret)/2:
		return "is a sequence, such as of the alphabet"
	}
	return ""
}

func different(s string) int {
	seen := map[byte]bool{}
	for i := range len(s) {
		seen[s[i]] = true
	}
	return len(seen)
}

// period returns the least p for which each byte is the same as the one p before it.
func period(s string) int {
	for p := 1; p < len(s); p++ {
		if s[p:] == s[:len(s)-p] {
			return p
		}
	}
	return len(s)
}

// longestRun returns the length of the longest part in which each byte is one more than the one
// before it, or one less.
func longestRun(s string) int {
	longest := 0
	for _, step := range []int{1, -1} {
		run := 1
		for i := 1; i < len(s); i++ {
			if run++; int(s[i])-int(s[i-1]) != step {
				run = 1
			}
			longest = max(longest, run)
		}
	}
	return longest
}

// ValidateServing returns what keeps a valid configuration from being served, and only that: with
// embedded stores every visitor may become the administrator, so strangers must not reach it
// unless auth.demo_public says so.
func (c Config) ValidateServing() error {
	if !c.Embedded() || isLoopback(c.HTTP.Addr) || c.Auth.DemoPublic {
		return nil
	}
	return &KeyError{
		Keys: []string{"http.addr", "auth.demo_public"},
		Text: "http.addr can be reached from other machines while the stores are embedded, and then every visitor may " +
			"become its administrator: set mysql.dsn and redis.addrs, or a loopback address, or " + variable("auth.demo_public") +
			"=true if you mean it",
	}
}
