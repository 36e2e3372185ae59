package config_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

func TestTrustedProxies_EachEntry_IsValidOrNamed(t *testing.T) {
	const everybody, malformed = "entry 1 trusts everybody", "entry 1 must be a network"
	for name, tc := range map[string]struct {
		entry string
		want  string
	}{
		"the private network":              {"10.0.0.0/8", ""},
		"a private network, with its host": {"192.168.1.7/16", ""},
		"one address":                      {"10.1.2.3", ""},
		"one IPv6 address":                 {"fd00::1", ""},
		"the private IPv6 network":         {"fc00::/7", ""},
		"a private network inside IPv6":    {"::ffff:10.0.0.0/104", ""},
		"all of IPv4":                      {"0.0.0.0/0", everybody},
		"all of IPv4, with a host":         {"1.2.3.4/0", everybody},
		"half of IPv4":                     {"128.0.0.0/1", everybody},
		"just too wide":                    {"10.0.0.0/7", everybody},
		"all of IPv6":                      {"::/0", everybody},
		"half of IPv6":                     {"8000::/1", everybody},
		"all of IPv4 inside IPv6":          {"::ffff:0.0.0.0/96", everybody},
		"half of IPv4 inside IPv6":         {"::ffff:0.0.0.0/97", everybody},
		"what surrounds IPv4 in IPv6":      {"::/80", everybody},
		"a star":                           {"*", malformed},
		"a name":                           {"hunter2", malformed},
		"an empty text":                    {"", malformed},
		"a length that is none":            {"10.0.0.0/33", malformed},
		"a length with a sign":             {"10.0.0.0/-1", malformed},
	} {
		t.Run(name, func(t *testing.T) {
			c := config.Default()
			c.HTTP.TrustedProxies = []string{tc.entry}
			err := c.Validate()
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "http.trusted_proxies: "+tc.want)
			require.Len(t, lines(t, err), 1)
			require.NotContains(t, err.Error(), canary)
		})
	}
	c := config.Default()
	c.HTTP.TrustedProxies = slices.Repeat([]string{"10.0.0.0/8"}, 33)
	require.ErrorContains(t, c.Validate(), "more than 32 entries")
}
