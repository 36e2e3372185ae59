package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

func TestAuth_KeysAndSecrets_ChooseVerification(t *testing.T) {
	const other = "5f0b9d3c7e8146a29bd0f4c6138e75a2"
	for name, tc := range map[string]struct {
		change func(*config.Auth)
		why    string
	}{
		"public keys and no secret":         {func(a *config.Auth) { a.Secret, a.JWKSFile = "", "jwks.json" }, ""},
		"both":                              {func(a *config.Auth) { a.JWKSFile = "jwks.json" }, ""},
		"public keys and a demo login":      {func(a *config.Auth) { a.Secret, a.JWKSFile, a.DemoLogin = "", "jwks.json", true }, "nothing to sign tokens with"},
		"public keys and the kid of none":   {func(a *config.Auth) { a.Secret, a.JWKSFile, a.KeyID = "", "jwks.json", "1" }, "nothing to sign tokens with"},
		"an old secret":                     {func(a *config.Auth) { a.KeyID, a.OldSecrets = "2", "1:"+other }, ""},
		"an old secret without kid":         {func(a *config.Auth) { a.KeyID, a.OldSecrets = "2", ":"+other }, ""},
		"two, with spaces":                  {func(a *config.Auth) { a.KeyID, a.OldSecrets = "3", "1:"+other+", 2:"+goodSecret }, ""},
		"no kid to tell them apart":         {func(a *config.Auth) { a.OldSecrets = ":" + other }, "entry 1 has the kid"},
		"one kid for two":                   {func(a *config.Auth) { a.KeyID, a.OldSecrets = "2", "1:"+other+",1:"+goodSecret }, "entry 2 has the kid"},
		"an old secret that is no pair":     {func(a *config.Auth) { a.OldSecrets = "hunter2" }, "KID:SECRET"},
		"an old secret that is short":       {func(a *config.Auth) { a.KeyID, a.OldSecrets = "2", "1:hunter2" }, "entry 1 must have at least 32 bytes"},
		"an old secret that can be guessed": {func(a *config.Auth) { a.KeyID, a.OldSecrets = "2", "1:"+config.ExampleSecret }, "entry 1 is public"},
		"too many": {func(a *config.Auth) {
			a.KeyID, a.OldSecrets = "k", config.Secret(strings.Repeat("x", 1)+":"+other+",1:"+other+",2:"+other+",3:"+other+",4:"+other+",5:"+other+",6:"+other+",7:"+other+",8:"+other)
		}, "more than 8"},
		"a kid with a quote":          {func(a *config.Auth) { a.KeyID = `hunter2"` }, "auth.key_id must be"},
		"a long kid":                  {func(a *config.Auth) { a.KeyID = strings.Repeat("k", 65) }, "auth.key_id must be"},
		"a token that lives too long": {func(a *config.Auth) { a.TokenTTL, a.MaxTokenTTL = 2*time.Hour, time.Hour }, "auth.token_ttl must not exceed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := real(t)
			tc.change(&c.Auth)
			err := c.Validate()
			if tc.why == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.why)
			require.Len(t, lines(t, err), 1)
			require.NotContains(t, err.Error(), canary)
			require.NotContains(t, err.Error(), other)
		})
	}
}
