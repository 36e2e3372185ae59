package app

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/config"
)

// login is an issuer of tokens: its signer, and its public key as a set.
func login(t *testing.T, id string) (*auth.Tokens, []byte) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	signer, err := auth.Options{
		Signer: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), SignerID: id, TTL: time.Hour,
	}.Tokens()
	require.NoError(t, err)
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: id}}})
	require.NoError(t, err)
	return signer, set
}

func TestTokenFiles_BrokenChange_KeepsEarlierVersion(t *testing.T) {
	first, firstSet := login(t, "1")
	second, secondSet := login(t, "2")
	dir := t.TempDir()
	settings := config.Default().Auth
	settings.JWKSFile, settings.DeniedUsersFile = filepath.Join(dir, "jwks.json"), filepath.Join(dir, "denied")
	write := func(path, text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write(settings.JWKSFile, string(firstSet))
	write(settings.DeniedUsersFile, "")

	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	tokens, stop, err := openTokens(settings, time.Now, log)
	require.NoError(t, err)
	stop() // the test looks itself
	keys, denied := keyFile(settings, tokens), deniedFile(settings, tokens)
	keys.texts = [][]byte{firstSet}
	look := func() {
		for range 2 { // a change is taken when two looks see the same
			keys.look(t.Context(), log)
			denied.look(t.Context(), log)
		}
	}
	valid := func(signer *auth.Tokens) bool {
		text, _, err := signer.Sign(42, auth.RoleUser, 0)
		require.NoError(t, err)
		_, err = tokens.Verify(text)
		return err == nil
	}
	require.True(t, valid(first))
	require.False(t, valid(second))

	for range 3 {
		write(settings.JWKSFile, string(secondSet[:len(secondSet)/2]))
		look()
		require.True(t, valid(first), "a file that is half written is not taken")
	}
	require.Equal(t, 1, strings.Count(out.String(), "a changed file is not taken"), "one line a cause: %s", &out)
	require.NoError(t, os.Remove(settings.JWKSFile))
	look()
	require.True(t, valid(first), "nor is one that is gone")
	write(settings.JWKSFile, string(secondSet))
	look()
	require.False(t, valid(first))
	require.True(t, valid(second))

	write(settings.DeniedUsersFile, "42\n")
	look()
	require.False(t, valid(second))
	write(settings.DeniedUsersFile, "43\n")
	look()
	require.True(t, valid(second))
	require.Contains(t, out.String(), "a changed file is taken")
	require.Contains(t, out.String(), "list of denied users taken")
	require.NotContains(t, out.String(), "kty", "no key is logged")
}

// A program that writes a list of a thousand users empties the file, and writes it piece by piece.
func TestDeniedUsers_ListIsBeingWritten_StaysInUse(t *testing.T) {
	settings := config.Default().Auth
	settings.DeniedUsersFile = filepath.Join(t.TempDir(), "denied")
	write := func(text string) { require.NoError(t, os.WriteFile(settings.DeniedUsersFile, []byte(text), 0o600)) }
	var list strings.Builder
	for user := 1000; user < 2000; user++ {
		fmt.Fprintln(&list, user)
	}
	write(list.String())
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	tokens, stop, err := openTokens(settings, time.Now, log)
	require.NoError(t, err)
	stop() // the test looks itself
	require.Contains(t, out.String(), "users=1000")
	denied := deniedFile(settings, tokens)
	denied.texts = [][]byte{[]byte(list.String())}
	look := func() { denied.look(t.Context(), log) }

	for _, half := range []string{"", list.String()[:2503], "1000\n1001\n1002", "100"} { // no line ends there
		write(half)
		for range 5 {
			look()
			require.Equal(t, 1000, tokens.Denied(), "with %d bytes of the list", len(half))
		}
	}
	for n := range 100 { // it grows between two looks, each time by a whole line
		write(list.String()[:5*(n+1)])
		look()
		require.Equal(t, 1000, tokens.Denied(), "%d lines of the list", n+1)
	}
	require.Contains(t, out.String(), "the last line does not end with a newline")
	require.Contains(t, out.String(), "the file is empty")

	write(list.String() + "2000\n")
	look()
	look()
	require.Equal(t, 1001, tokens.Denied())
	require.Contains(t, out.String(), "users=1001 before=1000")
	write("# none\n")
	look()
	look()
	require.Zero(t, tokens.Denied())
	require.Contains(t, out.String(), `level=WARN msg="no user is denied any more"`)
	require.Contains(t, out.String(), "before=1001")
}

// The first certificate of a chain is a chain as well, and fits the key.
func TestWatchedFiles_HalfOfAChain_IsNotTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chain.pem")
	var taken []string
	f := watchedFiles{key: "http.tls_cert", paths: []string{path}, take: onlyOne(func(text []byte) error {
		taken = append(taken, string(text))
		return nil
	})}
	for n, text := range []string{"old", "leaf", "leaf, issuer", "leaf, issuer", "leaf, issuer"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		if n == 0 {
			require.NoError(t, f.takeFirst())
			continue
		}
		f.look(t.Context(), slog.New(slog.DiscardHandler))
	}
	require.Equal(t, []string{"old", "leaf, issuer"}, taken)
}

func TestTokenFiles_Changed_AreReadAgain(t *testing.T) {
	signer, set := login(t, "1")
	settings := config.Default().Auth
	settings.JWKSFile = filepath.Join(t.TempDir(), "jwks.json")
	_, other := login(t, "2")
	require.NoError(t, os.WriteFile(settings.JWKSFile, other, 0o600))
	tokens, stop, err := openTokens(settings, time.Now, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer stop()
	require.NoError(t, os.WriteFile(settings.JWKSFile, set, 0o600))
	text, _, err := signer.Sign(42, auth.RoleUser, 0)
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, err := tokens.Verify(text); return err == nil }, 30*time.Second, 50*time.Millisecond)
}

func TestOpenTokens_InvalidFile_ReturnsError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for name, tc := range map[string]struct {
		text string
		auth config.Auth
		key  string
	}{
		"no file":       {"", config.Auth{JWKSFile: "/nowhere/at/all"}, "auth.jwks_file"},
		"no keys":       {"{}", config.Auth{JWKSFile: path}, "auth.jwks_file"},
		"half a list":   {"1000\n10", config.Auth{DeniedUsersFile: path}, "does not end with a newline"},
		"a user's name": {"bob\n", config.Auth{DeniedUsersFile: path}, "auth.denied_users_file"},
		"a huge file":   {strings.Repeat("#", maxWatchedFile) + "\n", config.Auth{DeniedUsersFile: path}, "auth.denied_users_file"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, []byte(tc.text), 0o600))
			tc.auth.TokenTTL = time.Hour
			_, _, err := openTokens(tc.auth, time.Now, slog.New(slog.DiscardHandler))
			require.ErrorContains(t, err, tc.key)
		})
	}
}

func TestSecrets_Old_VerifyButDoNotSign(t *testing.T) {
	old := strings.Repeat("0ld-secret-", 3)
	before, err := TokenOptions(config.Auth{Secret: config.Secret(old), TokenTTL: time.Hour})
	require.NoError(t, err)
	signer, err := before.Tokens()
	require.NoError(t, err)
	text, _, err := signer.Sign(42, auth.RoleUser, 0)
	require.NoError(t, err)
	settings := config.Auth{Secret: config.Secret(strings.Repeat("new-secret-", 3)), KeyID: "2", OldSecrets: config.Secret(":" + old), TokenTTL: time.Hour}
	for range 2 {
		o, err := TokenOptions(settings)
		require.NoError(t, err)
		tokens, err := o.Tokens()
		require.NoError(t, err)
		_, err = tokens.Verify(text)
		require.NoError(t, err)
		_, _, err = tokens.Sign(42, auth.RoleUser, 0)
		require.Equal(t, settings.Secret == "", err != nil, "only auth.secret signs")
		settings.Secret = ""
	}
}
