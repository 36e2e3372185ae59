package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

func TestLoad_RemovedKey_IsRefusedWithWhatToDoInstead(t *testing.T) {
	for key, instead := range map[string]string{
		"order.commit": " is gone: set order.batch_size instead, to 1 for single and to the default for group and batch",
		"stock.rows": " is gone: a sale's units always come from the coupon's row: remove the key; " +
			"if orders wait for that row, raise order.batch_size",
	} {
		section, name, _ := strings.Cut(key, ".")
		variable := strings.ToUpper("seckill_" + section + "__" + name)
		for _, value := range []string{"single", "shard", canary} {
			path := file(t, section+":\n  "+name+": "+value+"\n")
			_, err := config.Load(path, nil)
			require.EqualError(t, err, path+":2: "+key+instead)
			_, err = config.Load("", []string{variable + "=" + value})
			require.EqualError(t, err, variable+instead)
		}
		for _, k := range config.Keys() {
			require.NotEqual(t, key, k.Path)
		}
	}
}
