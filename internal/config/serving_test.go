package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

func TestDemo_PublicAddress_IsRefused(t *testing.T) {
	for addr, refused := range map[string]bool{
		":8080": true, "0.0.0.0:8080": true, "[::]:8080": true, "192.168.1.7:80": true, "shop.example:80": true,
		"127.0.0.1:8080": false, "127.0.0.2:0": false, "[::1]:8080": false, "localhost:8080": false,
	} {
		c := config.Default()
		c.HTTP.Addr = addr
		require.NoError(t, c.Validate(), "other commands than serve do not listen")
		err := c.ValidateServing()
		require.Equal(t, refused, err != nil, addr)
		if refused {
			require.ErrorContains(t, err, "http.addr")
			require.ErrorContains(t, err, "SECKILL_AUTH__DEMO_PUBLIC")
		}
		c.Auth.DemoPublic = true
		require.NoError(t, c.ValidateServing(), "it is meant so")

		c = real(t)
		c.HTTP.Addr = addr
		require.NoError(t, c.ValidateServing(), "with real stores there is no such administrator")
	}
}

// A server that closes an idle connection first can meet a request that is on its way.
func TestDefault_IdleTimeout_IsLongerThanThatOfBalancers(t *testing.T) {
	for balancer, keeps := range map[string]time.Duration{
		"AWS ALB": 60 * time.Second, "nginx upstream": 60 * time.Second, "Traefik, Go's net/http": 90 * time.Second,
	} {
		require.Greater(t, config.Default().HTTP.IdleTimeout, keeps+5*time.Second, balancer)
	}
	for _, behind := range []string{"620s", "130s"} {
		_, err := config.Load("", []string{"SECKILL_HTTP__IDLE_TIMEOUT=" + behind})
		require.NoError(t, err, behind)
	}
}
