package app

import (
	"fmt"
	"log/slog"
	"time"

	"example.com/seckill/internal/api"
	"example.com/seckill/internal/config"
)

// TokenOptions returns the options of the tokens that auth describes.
func TokenOptions(auth config.Auth) (api.TokenOptions, error) {
	o := api.TokenOptions{
		SignNothing: auth.Secret == "", Issuer: auth.Issuer, Audience: auth.Audience, TTL: auth.TokenTTL, MaxTTL: auth.MaxTokenTTL,
	}
	if auth.Secret != "" {
		o.Secrets = []api.TokenSecret{{ID: auth.KeyID, Secret: []byte(auth.Secret.Reveal())}}
	}
	old, err := auth.Verifiers()
	for _, s := range old {
		o.Secrets = append(o.Secrets, api.TokenSecret{ID: s.ID, Secret: []byte(s.Secret.Reveal())})
	}
	return o, err
}

// openTokens returns the tokens that auth describes. Its files are read again when they have
// changed, until stop is called.
func openTokens(auth config.Auth, now func() time.Time, log *slog.Logger) (tokens *api.Tokens, stop func(), err error) {
	o, err := TokenOptions(auth)
	if err != nil {
		return nil, nil, err
	}
	o.Now = now
	if tokens, err = o.Tokens(); err != nil {
		return nil, nil, fmt.Errorf("auth: %w", err)
	}
	stop, err = watch(log,
		watchedFiles{key: "auth.jwks_file", paths: []string{auth.JWKSFile}, take: onlyOne(tokens.SetPublicKeys)},
		watchedFiles{key: "auth.denied_users_file", paths: []string{auth.DeniedUsersFile}, take: onlyOne(tokens.Deny)})
	return tokens, stop, err
}

// onlyOne is a take of watchedFiles with one file.
func onlyOne(take func(text []byte) error) func(texts [][]byte) error {
	return func(texts [][]byte) error { return take(texts[0]) }
}
