package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

// isRefused checks that neither the file nor the environment may set a key that is gone.
func isRefused(t *testing.T, key, fileSays, variableSays string) {
	t.Helper()
	section, name, _ := strings.Cut(key, ".")
	variable := strings.ToUpper("seckill_" + section + "__" + name)
	for _, value := range []string{"single", "shard", canary} {
		path := file(t, section+":\n  "+name+": "+value+"\n")
		_, err := config.Load(path, nil)
		require.EqualError(t, err, path+":2: "+key+fileSays)
		_, err = config.Load("", []string{variable + "=" + value})
		require.EqualError(t, err, variable+variableSays)
	}
	for _, k := range config.Keys() {
		require.NotEqual(t, key, k.Path)
	}
}

func TestLoad_RemovedKey_IsRefusedWithWhatToDoInstead(t *testing.T) {
	for key, instead := range map[string]string{
		"order.commit": " is gone: set order.batch_size instead, to 1 for single and to the default for group and batch",
		"otel.sample":  " is gone: set otel.sample_ratio instead, to 0.01 for one of 100 requests",
		"stock.rows": " is gone: a sale's units always come from the coupon's row: remove the key; " +
			"if orders wait for that row, raise order.batch_size",
	} {
		isRefused(t, key, instead, instead)
	}
}

func TestLoad_RenamedKey_IsRefusedWithItsName(t *testing.T) {
	for old, current := range map[string]string{
		"admin.api":          "admin.serve_api",
		"auth.demo_open":     "auth.demo_public",
		"lock.lease":         "lock.ttl",
		"lock.wait":          "lock.wait_timeout",
		"order.proof_url":    "order.verify_url",
		"order.queue_wait":   "order.queue_max_age",
		"order.token":        "order.purchase_token",
		"order.token_lead":   "order.purchase_token_lead",
		"order.token_secret": "order.purchase_token_secret",
		"order.token_ttl":    "order.purchase_token_ttl",
		"otel.keep":          "otel.keep_traces",
		"rate.burst":         "rate_limit.burst",
		"rate.per_address":   "rate_limit.per_address",
		"rate.per_instance":  "rate_limit.per_instance",
		"rate.per_user":      "rate_limit.per_user",
		"rate.sessions":      "rate_limit.logins",
	} {
		variable := "SECKILL_" + strings.ToUpper(strings.Replace(current, ".", "__", 1))
		isRefused(t, old, " is gone: set "+current+" instead", " is gone: set "+variable+" instead")
		var paths []string
		for _, k := range config.Keys() {
			paths = append(paths, k.Path)
		}
		require.Contains(t, paths, current)
	}
}

func TestLoad_FileOfARenamedSecret_IsRefusedWithItsName(t *testing.T) {
	_, err := config.Load("", []string{"SECKILL_ORDER__TOKEN_SECRET_FILE=/run/secrets/" + canary})
	require.EqualError(t, err, "SECKILL_ORDER__TOKEN_SECRET_FILE is gone: set SECKILL_ORDER__PURCHASE_TOKEN_SECRET_FILE instead")
}

func TestLoad_RenamedSection_IsRefusedWithItsName(t *testing.T) {
	for content, want := range map[string]string{
		"rate: {per_user: 5, sessions: 5}": ":1: rate.per_user is gone: set rate_limit.per_user instead",
		"rate:":                            ":1: rate is gone: set rate_limit instead",
		"rate: 5":                          ":1: rate is gone: set rate_limit instead",
		"rate: {per_usr: 5}":               `:1: unknown key "rate.per_usr"`,
	} {
		path := file(t, content+"\n")
		_, err := config.Load(path, nil)
		require.ErrorContains(t, err, path+want)
	}
}
