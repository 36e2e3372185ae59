package config_test

import (
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

// kubernetesLinks returns what the kubelet sets for a Service, in its order.
func kubernetesLinks(service, ip string, protocol string, port uint16, portName string) []string {
	name := strings.ToUpper(strings.ReplaceAll(service, "-", "_"))
	all := []string{fmt.Sprintf("%s_SERVICE_HOST=%s", name, ip), fmt.Sprintf("%s_SERVICE_PORT=%d", name, port)}
	if portName != "" {
		portName = strings.ToUpper(strings.ReplaceAll(portName, "-", "_"))
		all = append(all, fmt.Sprintf("%s_SERVICE_PORT_%s=%d", name, portName, port))
	}
	url := protocol + "://" + net.JoinHostPort(ip, strconv.Itoa(int(port)))
	one := fmt.Sprintf("%s_PORT_%d_%s", name, port, strings.ToUpper(protocol))
	all = append(all, name+"_PORT="+url, one+"="+url, one+"_PROTO="+protocol)
	return append(all, fmt.Sprintf("%s_PORT=%d", one, port), one+"_ADDR="+ip)
}

// dockerLinks returns what `docker run --link` sets for a container with the ports 8080 to 8082.
func dockerLinks(alias string) []string {
	name := strings.ToUpper(strings.ReplaceAll(alias, "-", "_"))
	return []string{
		name + "_PORT=tcp://172.17.0.5:8080", name + "_PORT_8080_TCP_START=tcp://172.17.0.5:8080",
		name + "_PORT_8080_TCP_END=tcp://172.17.0.5:8082", name + "_PORT_8080_TCP_PORT_START=8080",
		name + "_PORT_8080_TCP_PORT_END=8082", name + "_PORT_8080_TCP_ADDR=172.17.0.5",
		name + "_PORT_8080_TCP_PROTO=tcp", name + "_PORT_8080_TCP=tcp://172.17.0.5:8080",
		name + "_PORT_8080_TCP_PORT=8080", name + "_NAME=/web/" + alias, name + "_ENV_TZ=UTC",
		name + "_ENV_SECKILL_HTTP__ADDR=0.0.0.0:8080", name + "_ENV_EMPTY=",
	}
}

func TestLoad_VariablesOfAnOrchestrator_AreIgnored(t *testing.T) {
	for name, environ := range map[string][]string{
		"Kubernetes, a Service seckill":       kubernetesLinks("seckill", "10.96.12.7", "tcp", 8080, "http"),
		"Kubernetes, a Service seckill-mysql": kubernetesLinks("seckill-mysql", "10.96.12.8", "tcp", 3306, ""),
		"Kubernetes, IPv6":                    kubernetesLinks("seckill", "fd00::7", "udp", 1, "a-b"),
		"Kubernetes, SCTP":                    kubernetesLinks("seckill--http", "10.0.0.1", "sctp", 65535, "service-port"),
		"Docker, a link seckill":              dockerLinks("seckill"),
		"Docker, a link seckill-env-db":       dockerLinks("seckill-env-db"),
		"Docker, a link of the old Compose":   dockerLinks("seckill_mysql_1"),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := config.Load("", append(environ, "SECKILL_STOCK__SHARDS=32"))
			require.NoError(t, err)
			want := config.Default()
			want.Stock.Shards = 32
			require.Equal(t, want, got)
		})
	}
}

func TestLoad_VariableThatOnlyLooksLikeALink_IsRefused(t *testing.T) {
	for _, entry := range []string{
		"SECKILL_PORT=8080", "SECKILL_PORT=", "SECKILL_PORT=http://10.0.0.1:80", "SECKILL_PORT=tcp://db:80",
		"SECKILL_ADMIN_PORT=6060", "SECKILL_SERVICE_HOST=localhost", "SECKILL_SERVICE_PORT=0",
		"SECKILL_SERVICE_PORT=65536", "SECKILL_SERVICE_PORT_=80", "SECKILL_PORT_80_TCP_ADDR=tcp",
		"SECKILL_PORT_80_TCP_PROTO=http", "SECKILL_PORT_80_ICMP=tcp://10.0.0.1:80", "SECKILL_PORT_X_TCP=tcp://10.0.0.1:80",
		"SECKILL_HOST=10.0.0.1", "SECKILL_HTTP_ADDR=10.0.0.1", "SECKILL_MYSQL_DSN=tcp://10.0.0.1:80",
		"SECKILL_NAME=/web/db", "SECKILL_NAME=seckill", "SECKILL_ENV_TZ=UTC", "SECKILL_ENV=/web/seckill",
	} {
		_, err := config.Load("", []string{entry})
		require.ErrorContains(t, err, "unknown variable", entry)
	}
}

// The key comes first, also if its variable were named and set as a link's is.
func TestLoad_KeyWithALinkAsItsValue_IsStillTheKey(t *testing.T) {
	for _, k := range config.Keys() {
		for _, value := range []string{"tcp://10.0.0.1:80", "10.0.0.1", "81"} {
			got, err := config.Load("", append(dockerLinks("seckill"), k.Variable+"="+value))
			ignored := err == nil && reflect.DeepEqual(config.Default(), got)
			require.False(t, ignored, "%s=%s", k.Variable, value)
		}
	}
}

// Any Service whose name begins with seckill is ignored, and nothing is that has another shape.
func FuzzLoad_OrchestratorVariables_AreIgnored(f *testing.F) {
	f.Add("", "http", []byte{10, 96, 12, 7}, uint16(8080), uint8(0), "SECKILL_PORT", "tcp://10.96.12.7:8080")
	f.Add("-mysql", "", []byte{10, 96, 12, 8}, uint16(3306), uint8(1), "SECKILL_ENV_X", "1")
	f.Add("--a-service-port", "b-c", make([]byte, 16), uint16(1), uint8(2), "SECKILL_X_SERVICE_PORT_Y", "80")
	f.Add("-service-host", "port", []byte{1, 1, 1, 1}, uint16(65535), uint8(2), "SECKILL_PORT_80_TCP", "tcp://[::1]:1")
	f.Add("", "", []byte{}, uint16(0), uint8(0), "SECKILL_PORT", "x")                       // another value
	f.Add("", "", []byte{}, uint16(0), uint8(0), "SECKILL_PORT_X", "tcp://10.96.12.7:8080") // another name
	label := regexp.MustCompile(`^([a-z0-9-]*[a-z0-9])?$`)
	shape := regexp.MustCompile(`^SECKILL_(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|` +
		`PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR|START|END|PORT_START|PORT_END))?)?)$`)
	value := regexp.MustCompile(`^(tcp|udp|sctp|\d{1,5}|((tcp|udp|sctp)://)?[0-9a-fA-F.:\[\]]+(%.+)?(:\d{1,5})?)$`)
	f.Fuzz(func(t *testing.T, rest, portName string, ip []byte, port uint16, protocol uint8, anyName, anyValue string,
	) {
		addr, ok := netip.AddrFromSlice(ip)
		service := label.MatchString(rest) && (rest == "" || rest[0] == '-')
		if ok && service && port > 0 && label.MatchString(portName) {
			of := []string{"tcp", "udp", "sctp"}[protocol%3]
			for _, entry := range kubernetesLinks("seckill"+rest, addr.String(), of, port, portName) {
				_, err := config.Load("", []string{entry})
				require.NoError(t, err, entry)
			}
		}
		isKey := anyName == "SECKILL_ALLOW_UNSAFE_LOCK"
		for _, k := range config.Keys() {
			isKey = isKey || k.Variable == anyName
		}
		if isKey || !strings.HasPrefix(anyName, "SECKILL_") || strings.Contains(anyName, "=") {
			return
		}
		if _, err := config.Load("", []string{anyName + "=" + anyValue}); err == nil {
			require.Regexp(t, shape, anyName)
			require.Regexp(t, value, anyValue)
		}
	})
}
