package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

// Each old name, in the file and in the environment, is refused in one line that says
// the new one, and the new one exists.
func TestAnOldNameIsRefusedWithTheNewOne(t *testing.T) {
	known := map[string]config.Key{}
	for _, k := range config.Keys() {
		known[k.Path] = k
	}
	for old, now := range map[string]string{
		"stock.sold_out_for": "stock.refusal_ttl",
		"stock.sold_out_ttl": "stock.refusal_ttl",
		"coupon.refresh":     "coupon.cache_refresh",
		"order.commit":       "order.batch_size",
		"order.queue_length": "order.queue_capacity",
		"order.queue_wait":   "order.queue_max_age",
		"order.pay_within":   "order.payment_timeout",
		"order.settle_after": "order.reconcile_after",
		"order.expire_every": "order.background_interval",
		"admission.orders":   "admission.max_concurrent",
		"admission.queue":    "admission.max_waiting",
		"admission.wait":     "admission.max_wait",
	} {
		t.Run(old, func(t *testing.T) {
			require.Contains(t, known, now)
			require.NotContains(t, known, old)
			section, key, _ := strings.Cut(old, ".")

			path := file(t, section+":\n  "+key+": "+canary+"\n")
			_, err := config.Load(path, nil)
			require.EqualError(t, err, path+":2: "+old+" is called "+now+" now")

			name := strings.Replace(known[now].Variable, strings.ToUpper(strings.TrimPrefix(now, section+".")), strings.ToUpper(key), 1)
			_, err = config.Load("", []string{name + "=" + canary})
			require.EqualError(t, err, name+" is called "+known[now].Variable+" now")
		})
	}
}

func TestLoad_RemovedKey_IsRefusedWithTheReason(t *testing.T) {
	const instead = " is gone: a sale's units always come from the coupon's row: remove the key; " +
		"if orders wait for that row, raise order.batch_size"
	for _, value := range []string{"coupon", "shard", canary} {
		path := file(t, "stock:\n  rows: "+value+"\n")
		_, err := config.Load(path, nil)
		require.EqualError(t, err, path+":2: stock.rows"+instead)
		_, err = config.Load("", []string{"SECKILL_STOCK__ROWS=" + value})
		require.EqualError(t, err, "SECKILL_STOCK__ROWS"+instead)
	}
	for _, k := range config.Keys() {
		require.NotEqual(t, "stock.rows", k.Path)
	}
}
