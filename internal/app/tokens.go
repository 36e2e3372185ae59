package app

import (
	"bytes"
	"errors"
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
	stop, err = watch(log, keyFile(settings, tokens), deniedFile(settings, tokens))
	if err == nil && settings.DeniedUsersFile != "" {
		log.Info("list of denied users read", "users", tokens.Denied())
	}
	return tokens, stop, err
}

func keyFile(settings config.Auth, tokens *auth.Tokens) watchedFiles {
	return watchedFiles{key: "auth.jwks_file", paths: []string{settings.JWKSFile}, take: onlyOne(tokens.SetPublicKeys)}
}

func deniedFile(settings config.Auth, tokens *auth.Tokens) watchedFiles {
	before := 0
	return watchedFiles{
		key: "auth.denied_users_file", paths: []string{settings.DeniedUsersFile},
		take: onlyOne(func(list []byte) error {
			before = tokens.Denied()
			return deny(tokens, list)
		}),
		taken: func(log *slog.Logger) {
			if users := tokens.Denied(); users > 0 || before == 0 {
				log.Info("list of denied users taken", "users", users, "before", before)
				return
			}
			log.Warn("no user is denied any more", "key", "auth.denied_users_file", "before", before)
		},
	}
}

// deny denies the users of a whole list. Half of a list would let users in, and half of an id would deny another user.
// A list without users is not empty: a program that writes a list empties the file first.
func deny(tokens *auth.Tokens, list []byte) error {
	switch {
	case len(list) > 0 && !bytes.HasSuffix(list, []byte("\n")):
		return errors.New("the last line does not end with a newline: the list may be cut off")
	case len(list) == 0 && tokens.Denied() > 0:
		return errors.New("the file is empty: to deny no user, write a line that is a comment")
	}
	return tokens.Deny(list)
}

// onlyOne returns a take function for a watchedFiles that has one file.
func onlyOne(take func(text []byte) error) func(texts [][]byte) error {
	return func(texts [][]byte) error { return take(texts[0]) }
}
