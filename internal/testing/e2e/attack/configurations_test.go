package attack_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/app"
	"example.com/seckill/internal/config"
	"example.com/seckill/internal/testing/testcerts"
)

// canary is what the corpus writes where a secret might stand: no message may repeat it.
const canary = "hunter2"

// realStores is what a configuration with stores begins with. No server is there.
var realStores = []string{
	"SECKILL_MYSQL__DSN=shop:hunter2@tcp(127.0.0.1:1)/seckill?timeout=1s&readTimeout=2s&writeTimeout=2s",
	"SECKILL_REDIS__ADDRS=127.0.0.1:1", "SECKILL_AUTH__SECRET=" + secret,
}

// serve starts the program and returns why it did not start.
func serve(ctx context.Context, file string, env []string) error {
	cfg, err := config.Load(file, env)
	if err != nil {
		return err
	}
	s, err := app.Start(ctx, cfg, slog.New(slog.DiscardHandler), app.Options{})
	if err != nil {
		return err
	}
	return errors.Join(errors.New("it started"), s.Stop(ctx))
}

func TestAttack_UnsafeConfiguration_WarnsOrIsRefused(t *testing.T) {
	n := 0
	files := badFiles(t)
	for name, f := range readCorpus[configurations](t, "configurations") {
		require.NotEmpty(t, f.About, name)
		n += len(f.Configurations)
		names := map[string]bool{}
		for _, c := range f.Configurations {
			require.False(t, names[c.Name], "%s is there twice", c.Name)
			names[c.Name] = true
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				c.judge(t, files)
			})
		}
	}
	t.Logf("%d configurations", n)
	require.GreaterOrEqual(t, n, fewestConfigurations)
}

func (c configuration) judge(t *testing.T, files map[string]string) {
	t.Helper()
	env := []string{"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0"}
	if c.Real {
		env = append(env, realStores...)
	}
	for _, one := range c.Env {
		env = append(env, expand(t, one, nil, files))
	}
	file := ""
	if c.File != "" {
		file = filepath.Join(t.TempDir(), "seckill.yaml")
		require.NoError(t, os.WriteFile(file, []byte(expand(t, c.File, nil, files)), 0o600))
	}
	if c.Warns != "" {
		cfg, err := config.Load(file, env)
		require.NoError(t, err)
		said := strings.Join(cfg.Warnings(), "\n")
		assert.Contains(t, said, c.Warns)
		assert.NotContains(t, said, canary)
		return
	}
	if c.Starts {
		_, err := config.Load(file, env)
		require.NoError(t, err, "it is refused before it is started")
	}
	require.NotEmpty(t, c.Says)
	said := serve(t.Context(), file, env).Error()
	for _, part := range c.Says {
		assert.Contains(t, said, part)
	}
	assert.NotContains(t, said, canary)
	assert.NotContains(t, said, secret)
	assert.LessOrEqual(t, strings.Count(said, "\n")+1, len(c.Says), said)
}

// badFiles are what the corpus calls the files that keys name.
func badFiles(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	ca, other := testcerts.New(t), testcerts.New(t)
	good, expired := ca.Issue(), ca.Issue(testcerts.Expired)
	return map[string]string{
		"dir": dir, "missing": filepath.Join(dir, "missing.pem"), "ca": ca.File,
		"cert": good.Cert, "key": good.Key, "expired": expired.Cert, "expiredKey": expired.Key, "otherKey": other.Issue().Key,
		"text": write("text.pem", canary), "empty": write("empty.pem", ""),
		"badSet":   write("bad.json", `{"keys":[{"kty":"oct","k":"`+canary+`"}]}`),
		"noSet":    write("no.json", canary),
		"emptySet": write("empty.json", `{"keys":[]}`),
		"privateSet": write("private.json", `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a",`+
			`"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}]}`),
		"badUsers": write("users", "7\n"+canary+"\n"),
	}
}
