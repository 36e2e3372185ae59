package auth

import (
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
)

const (
	maxPublicKeys = 32
	minRSABits    = 2048
)

// publicKeys verify tokens that another program signs.
type publicKeys struct {
	byID map[string]publicKey
	only *publicKey // the key of a token without a kid; nil if there are several
}

type publicKey struct {
	alg string
	key any
}

// find returns the key of that algorithm and id. Without an id it is the only key that there is.
func (p *publicKeys) find(alg, id string) (any, error) {
	if p == nil {
		return nil, errUnknownKey
	}
	found, ok := p.byID[id]
	if id == "" && p.only != nil {
		found, ok = *p.only, true
	}
	if !ok || found.alg != alg {
		return nil, errUnknownKey
	}
	return found.key, nil
}

// SetPublicKeys replaces the public keys by those of a JSON Web Key Set: Ed25519 for EdDSA, RSA of
// at least 2048 bits for RS256. It passes over keys of other kinds and purposes, and refuses a set
// with none that it knows, with a secret in it, or with two keys of one name; then the earlier
// ones stay.
func (t *Tokens) SetPublicKeys(jwks []byte) error {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(jwks, &set); err != nil {
		return fmt.Errorf("read the key set: %w", err)
	}
	p := &publicKeys{byID: map[string]publicKey{}}
	for _, text := range set.Keys {
		var k jose.JSONWebKey
		err := k.UnmarshalJSON(text)
		if errors.Is(err, jose.ErrUnsupportedKeyType) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read a key: %w", err)
		}
		one, err := usable(k)
		switch _, twice := p.byID[k.KeyID]; {
		case err != nil:
			return fmt.Errorf("key %q: %w", k.KeyID, err)
		case one.key == nil:
			continue
		case twice:
			return fmt.Errorf("key %q is there twice", k.KeyID)
		}
		p.byID[k.KeyID], p.only = one, &one
	}
	switch {
	case len(p.byID) == 0:
		return errors.New("the key set has no Ed25519 or RSA key")
	case len(p.byID) > maxPublicKeys:
		return fmt.Errorf("the key set has more than %d keys", maxPublicKeys)
	case len(p.byID) > 1:
		p.only = nil
		if _, unnamed := p.byID[""]; unnamed {
			return errors.New("a key has no kid beside others")
		}
	}
	t.public.Store(p)
	return nil
}

// usable returns the key if it verifies tokens, or none.
func usable(k jose.JSONWebKey) (publicKey, error) {
	if !k.IsPublic() {
		return publicKey{}, errors.New("it is a secret or a private key, which belongs to its issuer alone")
	}
	if k.Use != "" && k.Use != "sig" {
		return publicKey{}, nil
	}
	one := publicKey{key: k.Key}
	switch key := k.Key.(type) {
	case ed25519.PublicKey:
		one.alg = jwt.SigningMethodEdDSA.Alg()
	case *rsa.PublicKey:
		one.alg = jwt.SigningMethodRS256.Alg()
		if key.N.BitLen() < minRSABits {
			return publicKey{}, fmt.Errorf("an RSA key must have at least %d bits", minRSABits)
		}
	}
	if one.alg == "" || k.Algorithm != "" && k.Algorithm != one.alg {
		return publicKey{}, nil
	}
	return one, nil
}

// privateSigner reads a private key in PEM (PKCS #8, or PKCS #1 of RSA).
func privateSigner(text []byte, id string) (signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return signer{}, errors.New("the key is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if key, err = x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
			return signer{}, errors.New("the key is not a private key of PKCS #8")
		}
	}
	switch key.(type) {
	case ed25519.PrivateKey:
		return signer{jwt.SigningMethodEdDSA, id, key}, nil
	case *rsa.PrivateKey:
		return signer{jwt.SigningMethodRS256, id, key}, nil
	}
	return signer{}, errors.New("the key is neither Ed25519 nor RSA")
}

// Denied returns how many users are denied.
func (t *Tokens) Denied() int {
	if denied := t.denied.Load(); denied != nil {
		return len(*denied)
	}
	return 0
}

// Deny replaces the users whose tokens are refused by those of a list: an id a line; empty lines and
// what follows a # do not count. A list with anything else in it is refused, and the earlier one
// stays.
func (t *Tokens) Deny(list []byte) error {
	denied := map[int64]struct{}{}
	n := 0
	for line := range strings.Lines(string(list)) {
		n++
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		id, ok := parseUserID(line)
		if !ok {
			return fmt.Errorf("line %d is no user id", n)
		}
		denied[id] = struct{}{}
	}
	t.denied.Store(&denied)
	return nil
}
