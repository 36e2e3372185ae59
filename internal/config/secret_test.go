package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"example.com/seckill/internal/config"
)

func TestSecret_Formatted_IsHidden(t *testing.T) {
	c := config.Default()
	c.Auth.Secret, c.MySQL.DSN, c.Redis.Password, c.Redis.SentinelPassword = canary, canary, canary, canary
	s := config.Secret(canary)

	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s", "%t", "%U"} {
		fmt.Fprintf(&out, verb+" "+verb+" "+verb+"\n", s, &s, []config.Secret{s})
		fmt.Fprintf(&out, verb+" "+verb+"\n", c, &c)
		fmt.Fprintf(&out, verb+"\n", map[config.Secret]config.Secret{s: s})
	}
	fmt.Fprintln(&out, s, c, fmt.Errorf("secret %v: %v", s, c.Auth))
	asJSON, err := json.Marshal(c)
	require.NoError(t, err)
	asYAML, err := yaml.Marshal(c)
	require.NoError(t, err)
	out.Write(asJSON)
	out.Write(asYAML)
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
		slog.New(handler).Info("start", "secret", s, "config", c, "auth", &c.Auth, slog.Group("g", "s", s))
	}
	require.NotContains(t, out.String(), canary)
	require.NotContains(t, out.String(), fmt.Sprintf("%x", canary))
	require.Contains(t, out.String(), "[hidden]")
	require.Equal(t, canary, s.Reveal())
}
