// Package internal_test holds the house together: which room may import which.
package internal_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const modulePath = "example.com/seckill/"

// rooms says what each package of ours may import of ours, and anything marks the
// few that put the others together. A line is added here when a room is.
var rooms = map[string][]string{
	"internal/coupon":          {},
	"internal/lock":            {},
	"internal/order":           {"internal/coupon", "internal/lock"},
	"internal/order/model":     {},
	"internal/lock/locktest":   {"internal/lock", "internal/testbed/faultnet", "internal/testbed/servers", "internal/testbed/testservers"},
	"internal/lock/nolock":     {"internal/lock"},
	"internal/lock/redislock":  {"internal/lock"},
	"internal/lock/redlock":    {"internal/lock"},
	"internal/lock/mysqllock":  {"internal/lock", "internal/mysqlconn"},
	"internal/lock/etcdlock":   {"internal/lock", "internal/lock/deadpeer"},
	"internal/lock/zklock":     {"internal/lock", "internal/lock/deadpeer"},
	"internal/lock/deadpeer":   {},
	"internal/stock":           {"internal/coupon", "internal/order"},
	"internal/store":           {"internal/breaker", "internal/certs", "internal/coupon", "internal/mysqlconn", "internal/order", "sql"},
	"internal/idworker":        {"internal/lock"},
	"internal":                 {}, // the planted bugs of all rooms, as they are
	"internal/gallery":         {"internal"},
	"internal/api":             {"internal/api/web", "internal/coupon", "internal/gallery", "internal/order", "internal/ratelimit"},
	"internal/ratelimit":       {},
	"internal/api/web":         {},
	"internal/audit":           {"internal/coupon", "internal/order", "internal/stock", "internal/store"},
	"internal/metrics":         {"internal/coupon", "internal/lock", "internal/order"},
	"internal/tracing":         {"internal/lock", "internal/order"},
	"internal/config":          {},
	"internal/certs":           {},
	"internal/embedded":        {},
	"internal/redisconn":       {"internal/breaker", "internal/certs"},
	"internal/breaker":         {},
	"internal/admission":       {"internal/order"},
	"internal/rush":            {},
	"internal/testbed":         {"internal/testbed/servers"},
	"internal/testbed/servers": {"internal/system"},
	"internal/clock":           {},
	"internal/mysqlconn":       {},
	"internal/preflight":       {"internal/clock", "internal/mysqlconn"},
	"internal/system":          {},
	"sql":                      {},

	"internal/testbed/faultnet":         {},
	"internal/testbed/schedlatency":     {"internal/testbed/servers"},
	"internal/testbed/cmd/schedlatency": {"internal/testbed/schedlatency"},
	"internal/testbed/cmd/typecheck":    {"internal/testbed"},
	"internal/testbed/testservers":      {"internal/system", "internal/testbed", "internal/testbed/faultnet", "internal/testbed/servers"},
	"internal/testbed/testcerts":        {},
	"internal/testbed/mysql84":          {},
	"internal/testbed/failpoint":        {}, // it breaks calls and knows no instance

	"internal/app/core": {"internal/audit", "internal/coupon", "internal/order", "internal/stock", "internal/store"},
	"internal/app": { // it puts the program together, of all but the tools
		"internal/admission", "internal/api", "internal/app/core", "internal/audit", "internal/certs", "internal/clock", "internal/config", "internal/coupon",
		"internal/embedded", "internal/faults", "internal/idworker", "internal/lock", "internal/lock/etcdlock", "internal/lock/mysqllock",
		"internal/lock/nolock", "internal/lock/redislock", "internal/lock/redlock", "internal/lock/zklock", "internal/metrics",
		"internal/mysqlconn", "internal/order", "internal/preflight", "internal/ratelimit", "internal/redisconn", "internal/rush", "internal/stock", "internal/store",
		"internal/system", "internal/tracing",
	},

	"internal/cli": {"internal/app", "internal/config", "internal/rush"},

	"internal/shoptest": {
		"internal/app/core", "internal/audit", "internal/coupon", "internal/embedded", "internal/lock", "internal/lock/redislock",
		"internal/order", "internal/redisconn", "internal/testbed/failpoint", "internal/testbed/servers", "internal/testbed/testservers", "internal/stock", "internal/store",
	},

	"internal/lab": {
		"internal/app/core", "internal/lab/harness", "internal/coupon", "internal/lock", "internal/lock/mysqllock", "internal/lock/nolock", "internal/lock/redislock",
		"internal/lock/redlock", "internal/order", "internal/testbed/servers", "internal/stock", "internal/store",
	},
	"internal/lab/harness":    {"internal/embedded", "internal/lock", "internal/lock/redislock", "internal/redisconn", "internal/testbed", "internal/testbed/servers"},
	"internal/lab/cmd/record": {"internal/lab", "internal/lab/harness", "internal/testbed"},
	"internal/lab/runner":     {"internal/api", "internal/lab", "internal/lab/harness", "internal/lab/report"},
	"internal/lab/report":     {"internal/api/web", "internal/lab/harness"}, // its page has the colours of the other
	"internal/faults":         {"internal/coupon", "internal/lock", "internal/order", "internal/system"},
	"internal/chaos":          {"internal/coupon", "internal/faults", "internal/lock", "internal/preflight", "internal/system", "internal/testbed", "internal/testbed/faultnet", "internal/testbed/servers"},

	"internal/bench":              {"internal/rush", "internal/testbed", "internal/testbed/schedlatency", "internal/testbed/servers"},
	"internal/bench/cmd/bench":    {"internal/bench", "internal/testbed"},
	"internal/bench/cmd/shop":     {"internal/bench", "internal/testbed"},
	"internal/bench/cmd/k6report": {}, // it reads what k6 wrote
	"internal/bench/cmd/bare":     {}, // gin alone: it is what the program is compared with

	"internal/scale": {
		"internal/coupon", "internal/rush", "internal/stock", "internal/system",
		"internal/testbed", "internal/testbed/schedlatency", "internal/testbed/servers",
	},
	"internal/scale/cmd/scale": {"internal/scale", "internal/testbed"},

	"internal/e2e":                  {}, // its tests build cmd/seckill, and start it
	"internal/e2e/attack":           {}, // its tests start it in their process
	"internal/testreport":           {"internal/testbed"},
	"internal/mutation":             {"internal/system"},
	"internal/mutation/cmd/mutants": {"internal/mutation"},

	"internal/lock/locktest/history": {"internal/lock", "internal/lock/locktest", "internal/testbed/faultnet", "internal/testbed/testservers"},
}

// libraries belong to one room each: no other may import them.
var libraries = map[string][]string{
	"github.com/go-jose/":               {"internal/api"},
	"github.com/gin-gonic/gin":          {"internal/api", "internal/api/web", "internal/bench/cmd/bare"},
	"gorm.io/gorm":                      {"internal/store"},
	"github.com/glebarez/sqlite":        {"internal/store"},
	"github.com/alicebob/miniredis/":    {"internal/embedded"},
	"github.com/spf13/":                 {"cmd/seckill", "internal/cli"},
	"github.com/prometheus/":            {"internal/metrics", "internal/testbed/faultnet"}, // toxiproxy counts with it
	"github.com/Shopify/toxiproxy/":     {"internal/testbed/faultnet"},
	"github.com/rs/zerolog":             {"internal/testbed/faultnet"}, // toxiproxy logs with it
	"github.com/bwmarrin/snowflake":     {"internal/idworker"},
	"golang.org/x/time/":                {"internal/admission", "internal/api", "internal/ratelimit", "internal/tracing"},
	"go.opentelemetry.io/":              {"internal/tracing"},
	"github.com/failsafe-go/":           {"internal/admission", "internal/breaker"},
	"github.com/bluekeyes/go-gitdiff":   {"internal/mutation"},
	"golang.org/x/tools/":               {"internal/testbed/cmd/typecheck"},
	"github.com/anishathalye/porcupine": {"internal/lock/locktest/history"},
}

// pure rooms import the standard library and their neighbours, and nothing else.
var pure = []string{"internal/coupon", "internal/lock", "internal/order", "internal/order/model"}

type pkg struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", modulePath+"...").Output()
	require.NoError(t, err)
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		p.ImportPath = strings.TrimPrefix(p.ImportPath, modulePath)
		all = append(all, p)
	}
}

func TestEveryRoomImportsOnlyWhatItMay(t *testing.T) {
	for _, p := range packages(t) {
		may, known := rooms[p.ImportPath]
		if p.ImportPath == "cmd/seckill" || p.ImportPath == "internal" {
			continue // it puts the rooms together
		}
		if !known {
			t.Errorf("%s is in no line of the table: which rooms may it import?", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			if ours, is := strings.CutPrefix(imported, modulePath); is && !slices.Contains(may, ours) {
				t.Errorf("%s must not import %s", p.ImportPath, ours)
			}
		}
	}
}

func TestLibrariesStayInTheirRooms(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			for library, may := range libraries {
				if strings.HasPrefix(imported, library) && !slices.Contains(may, p.ImportPath) {
					t.Errorf("%s must not import %s: that is for %v", p.ImportPath, imported, may)
				}
			}
		}
	}
}

func TestTheDomainImportsTheStandardLibraryOnly(t *testing.T) {
	for _, p := range packages(t) {
		if !slices.Contains(pure, p.ImportPath) {
			continue
		}
		for _, imported := range p.Imports {
			if !strings.HasPrefix(imported, modulePath) && strings.Contains(strings.Split(imported, "/")[0], ".") {
				t.Errorf("%s must not import %s", p.ImportPath, imported)
			}
		}
	}
}
