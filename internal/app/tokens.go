package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"seckill/internal/api"
	"seckill/internal/config"
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

// tokenFileInterval is how often the files of public keys and of denied users are looked at.
const tokenFileInterval = 2 * time.Second

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
	var files []*tokenFile
	for _, f := range []*tokenFile{
		{key: "auth.jwks_file", path: auth.JWKSFile, take: tokens.SetPublicKeys},
		{key: "auth.denied_users_file", path: auth.DeniedUsersFile, take: tokens.Deny},
	} {
		if f.path == "" {
			continue
		}
		if _, err := f.read(); err != nil {
			return nil, nil, Usage(fmt.Errorf("%s: %w", f.key, err))
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return tokens, func() {}, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		watchFiles(ctx, files, log)
	}()
	return tokens, func() { cancel(); <-done }, nil
}

func watchFiles(ctx context.Context, files []*tokenFile, log *slog.Logger) {
	tick := time.NewTicker(tokenFileInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, f := range files {
			f.look(ctx, log)
		}
	}
}

// tokenFile is a file that take takes anew when it has changed.
type tokenFile struct {
	key, path string
	take      func(text []byte) error
	text      string // as it was taken last
	failed    string // why it was not taken last; one line a cause
}

// look reads the file, and logs what has changed. What cannot be read or taken leaves the earlier
// content in use.
func (f *tokenFile) look(ctx context.Context, log *slog.Logger) {
	changed, err := f.read()
	switch {
	case err != nil && err.Error() != f.failed:
		f.failed = err.Error()
		log.WarnContext(ctx, "a file of tokens is not taken: what it held before stays in use", "key", f.key, "error", err)
	case err == nil && (changed || f.failed != ""):
		f.failed = ""
		log.InfoContext(ctx, "a file of tokens is taken", "key", f.key)
	}
}

// mostTokenFile bounds what is read: some hundred thousand users.
const mostTokenFile = 4 << 20

// read takes the file if it is not as it was.
func (f *tokenFile) read() (changed bool, err error) {
	if info, err := os.Stat(f.path); err == nil && info.Size() > mostTokenFile {
		return false, fmt.Errorf("%s is larger than %d bytes", f.path, mostTokenFile)
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return false, err //nolint:wrapcheck // it names the file
	}
	if string(text) == f.text {
		return false, nil
	}
	if err := f.take(text); err != nil {
		return false, err
	}
	f.text = string(text)
	return true, nil
}
