package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

// canary stands where a secret might: no message may repeat it.
const canary = "hunter2"

func TestLoad_InvalidFile_ReportsLineWithoutValue(t *testing.T) {
	for name, tc := range map[string]struct{ content, want string }{
		"an unknown section":          {"htp:\n  addr: hunter2\n", `:1: unknown key "htp": did you mean http?`},
		"a far-off section":           {"elasticsearch: {a: hunter2}", `:1: unknown key "elasticsearch": remove it`},
		"an unknown key":              {"http:\n  adr: hunter2\n", `:2: unknown key "http.adr": did you mean http.addr?`},
		"a key of another section":    {"order: {lease: hunter2}", `:1: unknown key "order.lease"`},
		"capitals":                    {"HTTP: {addr: hunter2}", `unknown key "HTTP"`},
		"a hyphen for an underscore":  {"order: {payment-timeout: hunter2}", "did you mean order.payment_timeout?"},
		"a path instead of levels":    {"mysql.dsn: hunter2", `"mysql.dsn" is two levels: write dsn below mysql, indented`},
		"a path below its section":    {"mysql: {mysql.dsn: hunter2}", `unknown key "mysql.mysql.dsn"`},
		"an empty key":                {`"": hunter2`, `unknown key ""`},
		"a key with a line break":     {"\"a\\nb\": hunter2", `unknown key "a\nb"`},
		"an endless key":              {strings.Repeat("k", 500) + ": hunter2", "…"},
		"a key set twice":             {"stock:\n  shards: 8\n  shards: 9\n", `:3: "stock.shards" is set twice, first in line 2`},
		"a section set twice":         {"stock: {}\nlog: {}\nstock: {shards: 9}\n", `:3: "stock" is set twice, first in line 1`},
		"a value for a section":       {"auth: hunter2", ":1: auth is a section"},
		"a list for a section":        {"auth: [hunter2]", ":1: auth is a section"},
		"a section for a value":       {"auth:\n  secret:\n    value: hunter2\n", ":2: auth.secret takes a value"},
		"a list for a value":          {"auth: {secret: [hunter2]}", ":1: auth.secret takes one value and not a list"},
		"a key without a value":       {"auth:\n  secret:\n", ":2: auth.secret has no value"},
		"a list in a list":            {"redis: {addrs: [[hunter2]]}", ":1: redis.addrs must be a list of plain texts"},
		"an empty entry in a list":    {"redis: {addrs: [~]}", ":1: redis.addrs must be a list of plain texts"},
		"words for a number":          {"stock: {shards: hunter2}", ":1: stock.shards must be a whole number from 0 to 1024"},
		"a fraction for a number":     {"stock: {shards: 1.5}", "stock.shards must be a whole number"},
		"a number beyond all bounds":  {"stock: {shards: 99999999999999999999}", "stock.shards must be a whole number"},
		"a switch for a number":       {"stock: {shards: true}", "stock.shards must be a whole number"},
		"a word for a switch":         {"redis: {tls: hunter2}", "redis.tls must be true or false"},
		"a duration without its unit": {"order: {payment_timeout: 15}", "order.payment_timeout must be a duration with its unit"},
		"a word for a duration":       {"order: {payment_timeout: hunter2}", "order.payment_timeout must be a duration"},
		"a duration beyond all":       {"order: {payment_timeout: 9999999999h}", "order.payment_timeout must be a duration"},
		"a text for everything":       {"hunter2", ":1: must hold keys and values"},
		"a list for everything":       {"- hunter2", ":1: must hold keys and values"},
		"a list for a key":            {"? [hunter2]\n: 1\n", "holds a key that is not a plain word"},
		"an alias":                    {"log: {level: &a info}\nid: {generator: *a}", "id.generator is an alias"},
		"a merged section":            {"log: &a {level: info}\nid:\n  <<: *a\n", "holds a key that is not a plain word"},
		"two documents":               {"log: {level: info}\n---\nlog: {level: warn}\n", "more than one document"},
		"broken after the document":   {"log: {level: info}\n---\n\thunter2: [\n", "is not valid YAML"},
		"a tab":                       {"auth:\n\tsecret: hunter2\n", "is not valid YAML near line 2"},
		"an open quote":               {`auth: {secret: "hunter2}`, "is not valid YAML"},
		"an unknown anchor":           {"auth: {secret: *hunter2}", "is not valid YAML"},
		"bytes that are no text":      {"\x00\x01\xff\xfehunter2", "is not valid YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, tc.content)
			_, err := config.Load(path, nil)
			require.Error(t, err)
			got := lines(t, err)
			require.Len(t, got, 1)
			require.Contains(t, got[0], tc.want)
			require.Contains(t, got[0], path, "which file")
			require.NotContains(t, got[0], canary)
			require.Less(t, len(got[0]), 400)
		})
	}
}

func TestLoad_UnreadableFile_ReportsIt(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.yaml")
	require.NoError(t, os.WriteFile(huge, []byte(strings.Repeat("# comment\n", 200_000)), 0o600))
	for name, tc := range map[string]struct{ path, want string }{
		"missing":     {filepath.Join(dir, "no.yaml"), "no such file"},
		"a directory": {dir, "is a directory; --config wants the YAML file in it"},
		"huge":        {huge, "is larger than 1 MiB"},
		"no path":     {"a\x00b", "invalid argument"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Load(tc.path, nil)
			require.ErrorContains(t, err, tc.want)
			require.Len(t, lines(t, err), 1)
		})
	}
}

func TestLoad_InvalidEnvironment_ReportsVariableWithoutValue(t *testing.T) {
	for name, tc := range map[string]struct{ variable, want string }{
		"one underscore":          {"SECKILL_MYSQL_DSN=hunter2", `unknown variable "SECKILL_MYSQL_DSN": did you mean SECKILL_MYSQL__DSN?`},
		"a slip":                  {"SECKILL_STOCK__SHARD=8", "did you mean SECKILL_STOCK__SHARDS?"},
		"a section":               {"SECKILL_MYSQL=hunter2", `unknown variable "SECKILL_MYSQL"`},
		"nothing like a key":      {"SECKILL_ZZZZZZZZZZZZ=hunter2", `unknown variable "SECKILL_ZZZZZZZZZZZZ": unset it`},
		"nothing after the start": {"SECKILL_=hunter2", `unknown variable "SECKILL_"`},
		"small letters":           {"SECKILL_http__addr=hunter2", "did you mean SECKILL_HTTP__ADDR?"},
		"a word for a number":     {"SECKILL_STOCK__SHARDS=hunter2", "SECKILL_STOCK__SHARDS: stock.shards must be a whole number"},
		"nothing for a number":    {"SECKILL_STOCK__SHARDS=", "SECKILL_STOCK__SHARDS: stock.shards must be a whole number"},
		"a word for a duration":   {"SECKILL_LOCK__TTL=hunter2", "SECKILL_LOCK__TTL: lock.ttl must be a duration"},
		"a word for a ratio":      {"SECKILL_OTEL__SAMPLE_RATIO=hunter2", "otel.sample_ratio must be a ratio from 0 to 1, such as 0.01"},
		"no number for a ratio":   {"SECKILL_OTEL__SAMPLE_RATIO=NaN", "otel.sample_ratio must be a ratio from 0 to 1, such as 0.01"},
		"a word for a switch":     {"SECKILL_AUTH__DEMO_LOGIN=hunter2", "SECKILL_AUTH__DEMO_LOGIN: auth.demo_login must be true or false"},
		"a word for the unsafe":   {"SECKILL_ALLOW_UNSAFE_LOCK=hunter2", "SECKILL_ALLOW_UNSAFE_LOCK must be 1, or not be set"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Load("", []string{tc.variable})
			require.ErrorContains(t, err, tc.want)
			require.Len(t, lines(t, err), 1)
			require.NotContains(t, err.Error(), canary)
		})
	}
}

func TestLoad_SeveralErrors_ReportsAll(t *testing.T) {
	path := file(t, "htp: {}\nstock: {shards: 2000, sold_out: 1s}\norder:\n  tx_timeout: x\n  reconcile_after: 26s\nlog: {level: loud}\n")
	_, err := config.Load(path, []string{"SECKILL_LOCK__BACKEND=etcd", "SECKILL_NOPE=1", "SECKILL_REDIS__ADDRS=a:1"})
	for _, want := range []string{
		`"htp"`, `"stock.sold_out"`, "order.tx_timeout must be a duration", "SECKILL_NOPE",
		"stock.shards must be", "order.reconcile_after must be", "log.level must be one of", "lock.backend", "mysql.dsn is empty",
		"auth.secret is empty",
	} {
		require.ErrorContains(t, err, want)
	}
	require.Len(t, lines(t, err), 10)
	var p *config.KeyError
	require.ErrorAs(t, err, &p)
}

// A key that was not understood kept its default, and nothing is concluded from
// that: here the default of lock.ttl would be too short.
func TestLoad_UnreadValue_CausesNoFurtherErrors(t *testing.T) {
	_, err := config.Load("", []string{"SECKILL_LOCK__TTL=x", "SECKILL_ORDER__TX_TIMEOUT=6s", "SECKILL_HTTP__REQUEST_TIMEOUT=7s"})
	require.Len(t, lines(t, err), 1)
	require.ErrorContains(t, err, "lock.ttl must be a duration")
}
