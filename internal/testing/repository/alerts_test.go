package repository_test

import (
	"encoding/json"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// rule is one alert of configs/alerts.yml.
type rule struct {
	Alert, Expr string
	Annotations struct{ Runbook string }
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "configs/alerts.yml")), &file))
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	require.Len(t, all, 6)
	return all
}

func TestAlerts_EachCase_FiresOnlyItsAlert(t *testing.T) {
	testservers.Need(t, servers.LookPromtool)
	cases := read(t, "configs/alerts_test.yml")
	for _, r := range rules(t) {
		require.Contains(t, cases, "name: "+r.Alert+" fires, and no other")
	}
	command := exec.CommandContext(t.Context(), "promtool", "test", "rules", "configs/alerts_test.yml")
	command.Dir = root
	said, err := command.CombinedOutput()
	require.NoError(t, err, "%s", said)
}

func TestAlerts_Runbook_IsASection(t *testing.T) {
	sections := anchors(read(t, "docs/RUNBOOK.md"))
	for _, r := range rules(t) {
		anchor, found := strings.CutPrefix(r.Annotations.Runbook, "docs/RUNBOOK.md#")
		if !found || !slices.Contains(sections, anchor) {
			t.Errorf("%s: the annotation runbook is %q, and docs/RUNBOOK.md has no such section", r.Alert, r.Annotations.Runbook)
		}
	}
}

func TestMonitoring_Alerts_AreThoseOfTheRules(t *testing.T) {
	var want, got []string
	for _, r := range rules(t) {
		want = append(want, r.Alert)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(Seckill\\w+)`").FindAllStringSubmatch(read(t, "docs/MONITORING.md"), -1) {
		got = append(got, m[1])
	}
	require.ElementsMatch(t, want, got)
}

// exported returns the names under which the program's metrics are scraped: a histogram has three.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{"go_sql_in_use_connections": true, "go_sql_wait_count_total": true} // of the library's collector
	for path, text := range sources(t, ".go") {
		if !strings.HasPrefix(path, "internal/observe/metrics/") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`"(seckill_[a-z_]+)"`).FindAllStringSubmatch(text, -1) {
			all[m[1]] = true
			if strings.HasSuffix(m[1], "_seconds") || strings.HasSuffix(m[1], "_orders") {
				all[m[1]+"_bucket"], all[m[1]+"_sum"], all[m[1]+"_count"] = true, true, true
			}
		}
	}
	return all
}

func TestAlerts_MetricsWithDashboard_Exist(t *testing.T) {
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "configs/grafana/dashboards/seckill.json")), &board))
	var asked []string
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			asked = append(asked, target.Expr)
		}
	}
	for _, r := range rules(t) {
		asked = append(asked, r.Expr)
	}
	there, named := exported(t), map[string]bool{}
	for _, expr := range asked {
		for _, name := range regexp.MustCompile(`\b(?:seckill|go_sql)_[a-z_]+`).FindAllString(expr, -1) {
			named[name] = true
			assert.True(t, there[name], "%s: there is no metric %s", expr, name)
		}
		// The label job belongs to the scrape, and no metric of the program has it.
		assert.NotRegexp(t, `by \([^)]*\bjob\b`, expr)
	}
	require.Greater(t, len(named), 15, "%v", slices.Sorted(maps.Keys(named)))
}

// What every instance exports alike is counted once, a legend names labels that its series have, and each
// panel says what it shows.
func TestDashboard_Panels_ShowTheirTitle(t *testing.T) {
	var board struct {
		Panels []struct {
			Title, Description string
			Targets            []struct{ Expr, LegendFormat string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "configs/grafana/dashboards/seckill.json")), &board))
	label := regexp.MustCompile(`\{\{(\w+)\}\}`)
	for _, p := range board.Panels {
		assert.NotEmpty(t, p.Description, p.Title)
		for _, target := range p.Targets {
			if regexp.MustCompile(`seckill_(stock_remaining|queue_|coupon_)`).MatchString(target.Expr) {
				assert.Contains(t, target.Expr, "max by (coupon", p.Title)
			}
			by := regexp.MustCompile(`by \(([^)]*)\)`).FindStringSubmatch(target.Expr)
			for _, named := range label.FindAllStringSubmatch(target.LegendFormat, -1) {
				if by != nil {
					assert.Contains(t, strings.Split(by[1], ", "), named[1], "%s: %s", p.Title, target.Expr)
				}
			}
		}
	}
}

func TestAlerts_Prometheus_LoadsThem(t *testing.T) {
	require.Contains(t, read(t, "configs/prometheus.yml"), "rule_files: [alerts.yml]")
	require.Contains(t, containers(t)["prometheus"].Volumes, "./configs/alerts.yml:/etc/prometheus/alerts.yml:ro")
	require.Contains(t, read(t, ".ci/install-servers"), "want promtool prometheus")
}

// An operator sees the figures of the sale before anything else, each as one number.
func TestDashboard_FirstRows_AreTheFiguresAndTheInvariants(t *testing.T) {
	var board struct {
		Panels []struct {
			Type, Title string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr, LegendFormat string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "configs/grafana/dashboards/seckill.json")), &board))
	var figures []string
	bottom, ids := 0, map[[2]int]string{}
	for _, p := range board.Panels {
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				require.Empty(t, ids[at], "%s lies over %s", p.Title, ids[at])
				ids[at] = p.Title
			}
		}
		if p.GridPos.Y == 0 {
			require.Equal(t, "stat", p.Type, p.Title)
			require.Len(t, p.Targets, 1, p.Title)
			figures, bottom = append(figures, p.Title), p.GridPos.H
		}
	}
	require.Equal(t, []string{"Orders", "Left", "Oversold", "Refused", "Orders per second", "p99 of orders"}, figures)
	invariants := board.Panels[len(figures)]
	require.Equal(t, bottom, invariants.GridPos.Y)
	require.Equal(t, "stat", invariants.Type)
	require.Equal(t, "units oversold", invariants.Targets[0].LegendFormat)
	require.Contains(t, invariants.Targets[0].Expr, "seckill_coupon_oversold_units")
}
