package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// smallestSecret is what HS256 asks for: as many bytes as its hash has.
const smallestSecret = 32

// mostOldSecrets bounds what a token without a kid is tried with.
const mostOldSecrets = 8

func (c Config) checkAuth(wrong *problems) {
	const how = "; openssl rand -base64 48 makes one"
	switch secret := c.Auth.Secret.Reveal(); {
	case c.Embedded() && (secret == "" || secret == ExampleSecret):
		// development: a made-up secret will do, see FillDevelopment
	case secret == "" && c.Auth.JWKSFile != "":
		if c.Auth.DemoLogin || c.Auth.KeyID != "" {
			wrong.add("auth.secret is empty, so there is nothing to sign tokens with: set it, or leave out auth.demo_login and auth.key_id",
				"auth.secret", "auth.demo_login", "auth.key_id")
		}
	case secret == "":
		wrong.add("auth.secret is empty: set "+variable("auth.secret")+how, "auth.secret")
	default:
		if weak := c.weakness(secret); weak != "" {
			wrong.add("auth.secret "+weak+": set your own"+how, "auth.secret")
		}
	}
	if c.Auth.KeyID != "" && !isKeyID(c.Auth.KeyID) {
		wrong.add("auth.key_id must be 1 to 64 letters, digits, dots, dashes and underscores", "auth.key_id")
	}
	old, err := c.Auth.Verifiers()
	if err != nil {
		wrong.add("auth.old_secrets: "+err.Error(), "auth.old_secrets")
	}
	for i, one := range old {
		if weak := c.weakness(one.Secret.Reveal()); weak != "" {
			wrong.add(fmt.Sprintf("auth.old_secrets: entry %d %s", i+1, weak), "auth.old_secrets")
		}
	}
	if c.Auth.TokenTTL > c.Auth.MaxTokenTTL {
		wrong.add("auth.token_ttl must not exceed auth.max_token_ttl: such tokens would be refused",
			"auth.token_ttl", "auth.max_token_ttl")
	}
}

// weakness returns why a secret is not enough, or "". With embedded stores it may be guessed.
func (c Config) weakness(secret string) string {
	if len(secret) < smallestSecret {
		return fmt.Sprintf("must have at least %d bytes", smallestSecret)
	}
	if c.Embedded() {
		return ""
	}
	return weakness(secret)
}

// Verifier is a secret that verifies tokens, and its kid.
type Verifier struct {
	ID     string
	Secret Secret
}

// Verifiers returns the secrets of auth.old_secrets.
func (a Auth) Verifiers() ([]Verifier, error) {
	if a.OldSecrets == "" {
		return nil, nil
	}
	var all []Verifier
	ids := []string{a.KeyID}
	for entry := range strings.SplitSeq(a.OldSecrets.Reveal(), ",") {
		id, secret, ok := strings.Cut(strings.TrimSpace(entry), ":")
		switch {
		case !ok || id != "" && !isKeyID(id):
			return nil, fmt.Errorf("entry %d must be KID:SECRET", len(all)+1)
		case slices.Contains(ids, id):
			return nil, fmt.Errorf("entry %d has the kid of another, or of auth.secret", len(all)+1)
		case len(all) == mostOldSecrets:
			return nil, errors.New("there are more than 8 entries: take out those whose tokens have expired")
		}
		ids = append(ids, id)
		all = append(all, Verifier{id, Secret(secret)})
	}
	return all, nil
}

func isKeyID(id string) bool { return isWord(id, "._-") }
