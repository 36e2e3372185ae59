package app

import (
	"fmt"
	"log/slog"
	"time"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/config"
)

// TokenOptions returns the options of the tokens that the configuration describes.
func TokenOptions(settings config.Auth) (auth.Options, error) {
	o := auth.Options{
		SignNothing: settings.Secret == "", Issuer: settings.Issuer, Audience: settings.Audience,
		TTL: settings.TokenTTL, MaxTTL: settings.MaxTokenTTL,
	}
	if settings.Secret != "" {
		o.Secrets = []auth.Secret{{ID: settings.KeyID, Secret: []byte(settings.Secret.Reveal())}}
	}
	old, err := settings.Verifiers()
	for _, s := range old {
		o.Secrets = append(o.Secrets, auth.Secret{ID: s.ID, Secret: []byte(s.Secret.Reveal())})
	}
	return o, err
}

// openTokens returns the tokens that the configuration describes. It reads their files again when
// they have changed, until stop is called.
func openTokens(settings config.Auth, now func() time.Time, log *slog.Logger) (tokens *auth.Tokens, stop func(), err error) {
	o, err := TokenOptions(settings)
	if err != nil {
		return nil, nil, err
	}
	o.Now = now
	if tokens, err = o.Tokens(); err != nil {
		return nil, nil, fmt.Errorf("auth: %w", err)
	}
	stop, err = watch(log,
		watchedFiles{key: "auth.jwks_file", paths: []string{settings.JWKSFile}, take: onlyOne(tokens.SetPublicKeys)},
		watchedFiles{key: "auth.denied_users_file", paths: []string{settings.DeniedUsersFile}, take: onlyOne(tokens.Deny)})
	return tokens, stop, err
}

// onlyOne is a take of watchedFiles with one file.
func onlyOne(take func(text []byte) error) func(texts [][]byte) error {
	return func(texts [][]byte) error { return take(texts[0]) }
}
