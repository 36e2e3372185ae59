package bench

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// One env for all: the program is built once. Six of the paths are drawn.
func TestPaths_RealProgram_AreServed(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	h, err := openEnv(t.Context(), "../../..")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	const taps = 300
	measure := func(t *testing.T, name string) figures {
		t.Helper()
		got, err := h.measure(t.Context(), pathCalled(name), taps, "")
		require.NoError(t, err)
		require.Empty(t, got.violations)
		f := got.figures
		require.InDelta(t, taps, f[asked], 0)
		require.Positive(t, f[rate])
		require.GreaterOrEqual(t, f[p99], f[p50])
		require.Greater(t, f[memory], 5.0)
		return f
	}
	// On a busy machine the program may refuse a tap that it cannot serve in time.
	bought := func(t *testing.T, f figures) {
		t.Helper()
		assert.InDelta(t, f[accepted], f[committed], 0)
		assert.Greater(t, f[accepted], 0.95*taps)
	}
	paths := []struct {
		name string
		test func(*testing.T)
	}{
		{"the bare route answers the same crowd", func(t *testing.T) {
			f := measure(t, bare)
			assert.InDelta(t, taps, f[refused], 0)
			assert.Zero(t, f[redisScripts]+f[statements], "it has no stores")
		}},
		{"an order costs a commit of its own", func(t *testing.T) {
			f := measure(t, single)
			bought(t, f)
			assert.InDelta(t, 1, f[commits], 0.2)
			assert.Greater(t, f[rowsWritten], 1.9, "the order and the coupon")
			assert.Greater(t, f[redisScripts], 1.9)
		}},
		{"a crowd comes to each coupon of another design", func(t *testing.T) {
			p, f := h.rival("conditional-update")
			b := &bench{env: h}
			got, err := b.inShop(t.Context(), p, f, taps, func(s *deployment, got *taken) error {
				return s.takeCrowd(t.Context(), got, p, crowd{lanes: 8, coupons: 3, taps: taps})
			})
			require.NoError(t, err)
			require.Empty(t, got.violations)
			bought(t, got.figures)
			assert.InDelta(t, 1, got.figures[commits], 0.2, "each order has a commit of its own")
			assert.Less(t, got.figures[redisScripts], 0.1, "this design does not ask Redis")
		}},
		{"many orders share a commit", func(t *testing.T) {
			f := measure(t, batch)
			bought(t, f)
			assert.Less(t, f[commits], 0.9)
		}},
		{"sold out costs no call of Redis or the database", func(t *testing.T) {
			f := measure(t, "sold out")
			assert.InDelta(t, taps, f[refused], 0)
			assert.Positive(t, f[ofBare], "both took turns")
			assert.Zero(t, f[committed])
			assert.Less(t, f[redisScripts]+f[statements], 0.5)
		}},
		{"a look costs no call of Redis or the database, and takes nothing", func(t *testing.T) {
			f := measure(t, look)
			assert.InDelta(t, taps, f[refused], 0)
			assert.Zero(t, f[accepted]+f[committed])
			assert.Less(t, f[redisScripts]+f[statements], 0.5)
		}},
		{"an order with a purchase token is an order", func(t *testing.T) {
			f := measure(t, "purchase tokens")
			bought(t, f)
			assert.Greater(t, f[requestRate], 1.9*f[rate], "it is asked for before")
		}},
		{"who has bought is refused for it", func(t *testing.T) {
			f := measure(t, "limit reached")
			assert.InDelta(t, taps, f[refused], 0)
			assert.Zero(t, f[accepted])
		}},
		{"coupons of one crowd begin together and are added up", func(t *testing.T) {
			s, err := h.open(t.Context(), pathCalled(batch))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.close()) })
			var got taken
			b := &bench{sizes: sizes{taps: taps}}
			require.NoError(t, b.amongCoupons(t.Context(), s, &got, 3))
			require.Empty(t, got.violations)
			assert.InDelta(t, taps, got.figures[committed], 0)
		}},
		{"a crowd is spread over instances and masters", func(t *testing.T) {
			c, err := servers.StartMasters(t.Context(), t.TempDir(), 2)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, c.Stop()) })
			b := &bench{env: h, sizes: sizes{taps: taps}}
			got, err := b.inFleet(t.Context(), pathCalled(batch), cluster{instances: 2, cluster: true, nodes: c.Nodes()})
			require.NoError(t, err)
			require.Empty(t, got.violations)
			assert.InDelta(t, taps, got.figures[accepted], 0)
			assert.InDelta(t, taps, got.figures[committed], 0, "the orders of both, and once")
			assert.Less(t, got.figures[busiest], 0.9)
		}},
		{"the bare route is asked what the program is", func(t *testing.T) {
			b := &bench{env: h, sizes: sizes{rounds: 1, taps: taps}, report: &Report{}}
			b.Log = io.Discard
			require.NoError(t, b.bareFleets(t.Context()))
			require.Len(t, b.report.BareFleets, 2)
			for _, row := range b.report.BareFleets {
				assert.InDelta(t, taps, row.figures[refused], 0)
				assert.Positive(t, row.figures[rate]) // the CPU of so few taps may be less than a tick of its clock
			}
			s, err := h.openFleet(t.Context(), pathCalled(bare), cluster{instances: 2})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.close()) })
			assert.Len(t, s.fleet, 2)

			var peak figures
			peak[rate] = 1000
			rows, err := b.ofPeak(t.Context(), pathCalled(bare), peak, 8, 0.2, judged)
			require.NoError(t, err)
			require.Len(t, rows, 1)
			assert.Equal(t, "bare route: 800/s, 80 % of the peak", rows[0].Name)
			assert.InDelta(t, 160, rows[0].figures[refused], 0)
			assert.Positive(t, rows[0].figures[p99])
		}},
		{"overload is ten times of each one's own peak", func(t *testing.T) {
			peaks := []Row{{Name: bare}, {Name: batch}}
			peaks[0].figures[rate], peaks[1].figures[rate] = 400, 200
			b := &bench{env: h, sizes: sizes{rounds: 1, overload: 0.05}, report: &Report{Paths: peaks}}
			b.Log, b.Only = io.Discard, []string{"overload"}
			require.NoError(t, b.offered(t.Context()))
			require.Empty(t, b.report.Violations)
			assert.InDelta(t, 2000, b.report.Overload[0].At, 0)
			assert.InDelta(t, 4000, b.report.BareOverload[0].At, 0)
			assert.InDelta(t, 200, b.report.BareOverload[0].figures[refused], 0)
			assert.Empty(t, b.report.Load)
		}},
		{"an audit that is not clean is told", func(t *testing.T) {
			s, err := h.open(t.Context(), pathCalled(batch))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.close()) })
			id, err := s.sell(t.Context(), 10, time.Now().Add(-time.Second))
			require.NoError(t, err)
			var schema string
			require.NoError(t, s.watched.db.QueryRowContext(t.Context(),
				"SELECT table_schema FROM information_schema.tables WHERE table_name = 'coupons'").Scan(&schema))
			// A unit that was not bought goes missing.
			_, err = s.watched.db.ExecContext(t.Context(), "UPDATE "+schema+".coupons SET stock = stock - 1 WHERE id = "+id)
			require.NoError(t, err)
			_, violations, err := s.run(t.Context(), workload{coupons: []string{id}, taps: 5, lanes: 2})
			require.NoError(t, err)
			require.Len(t, violations, 1)
			assert.Contains(t, violations[0], "violated")
			r := Report{Violations: violations}
			require.ErrorIs(t, r.Verdict(), ErrNoSpeed)
		}},
		{"a setting that the program refuses is a path that is absent", func(t *testing.T) {
			absent, err := h.refuses(t.Context(), []string{"SECKILL_ORDER__BATCH_SIZE=wishes"})
			require.NoError(t, err)
			assert.True(t, absent)
			absent, err = h.refuses(t.Context(), []string{batchOfOne})
			require.NoError(t, err)
			assert.False(t, absent)
		}},
	}
	for _, path := range testservers.Sample(t, 6, paths) {
		t.Run(path.name, path.test)
	}
}

// A generator that is not ours gets a deployment with everything that it needs.
func TestOpen_OtherLoadGenerator_ServesASale(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	s, err := OpenEnv(t.Context(), EnvOptions{Root: "../../..", Users: 3})
	require.NoError(t, err)
	var env bytes.Buffer
	require.NoError(t, s.WriteEnv(&env))
	assert.Contains(t, env.String(), "LT_URL="+s.URL+"\nLT_ADMIN_TOKEN="+s.Admin+"\nLT_TOKENS="+s.Tokens+"\n")
	assert.Contains(t, env.String(), "# on MariaDB")
	tokens, err := os.ReadFile(s.Tokens)
	require.NoError(t, err)
	lines := strings.Fields(string(tokens))
	require.Len(t, lines, 3, "a token for each user")

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	status := func(method, url, token string) int {
		q, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
		require.NoError(t, err)
		q.Header.Set("Authorization", "Bearer "+token)
		a, err := client.Do(q)
		require.NoError(t, err)
		require.NoError(t, a.Body.Close())
		return a.StatusCode
	}
	id, err := s.shop.sell(t.Context(), 10, time.Now().Add(-time.Second))
	require.NoError(t, err, "the administrator's token is one")
	assert.Equal(t, http.StatusCreated, status(http.MethodPost, s.URL+"/api/v1/coupons/"+id+"/orders", lines[2]))
	assert.Equal(t, http.StatusOK, status(http.MethodGet, s.Metrics, ""))
	require.NoError(t, s.Close())
	_, err = os.Stat(s.Tokens)
	require.ErrorIs(t, err, os.ErrNotExist, "nothing is left")
}

func TestOpenEnv_WrongDesign_MakesTheOrders(t *testing.T) {
	s, err := OpenEnv(t.Context(), EnvOptions{Root: "../../..", Users: 1, Embedded: true, Design: "naive"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	var features struct {
		Design struct{ Name string }
	}
	require.NoError(t, servers.AskJSON(t.Context(), admins, http.MethodGet, s.URL+"/api/v1/features", "", nil, &features))
	require.Equal(t, "naive", features.Design.Name)
}

func TestRivals_RightDesigns_AreNextToTheProgramAndTheBareRoute(t *testing.T) {
	require.Equal(t, []string{
		bare, "seckill", "for-update", "optimistic", "conditional-update", "skip-locked", "decr-then-queue",
	}, rivals())
	require.Equal(t, "128 connections, 16 coupons", crowd{lanes: 128, coupons: 16}.String())
	require.Equal(t, "1 connections, 1 coupon", crowd{lanes: 1, coupons: 1}.String())
}

func TestFigures_Rounds_HaveMediansAndRatios(t *testing.T) {
	at := func(perSecond float64) (f figures) { f[rate] = perSecond; return f }
	rounds := []figures{at(30), at(10), at(20)}
	assert.InDelta(t, 20, medians(rounds)[rate], 0, "the middle one")
	assert.InDelta(t, 3, ratio(rate, rounds[0], []figures{at(10)}, 0), 0)
	assert.Zero(t, ratio(rate, rounds[0], nil, 0), "of nothing")
	assert.InDelta(t, 0.5, flatness([]Row{{figures: at(50)}, {figures: at(100)}, {figures: at(70)}}), 0)
	var f figures
	f.each(counters{program: time.Second, statements: 10}, counters{program: 3 * time.Second, statements: 50}, 1000)
	assert.InDelta(t, 2000, f[cpuProgram], 0, "µs each")
	assert.InDelta(t, 0.04, f[statements], 1e-9)
}

func TestPath_Measured_IsComparedWithBaselineAround(t *testing.T) {
	var played []string
	minutes := func(p path) (f figures, err error) { // of a machine that becomes slower
		played = append(played, p.name)
		n := float64(len(played))
		f[rate], f[cpuAll] = 120/n, n
		return f, nil
	}
	rounds := map[string][]figures{}
	require.NoError(t, playRound([]path{pathCalled(bare), pathCalled(batch), pathCalled(queue)}, rounds, minutes))
	require.Equal(t, []string{bare, batch, bare, queue, bare}, played)
	require.Len(t, rounds[bare], 3)
	assert.InDelta(t, 60/80.0, rounds[batch][0][ofBare], 1e-9, "of 120 before and 40 after")
	assert.InDelta(t, 30/32.0, rounds[queue][0][ofBare], 1e-9, "of 40 before and 24 after")
	assert.InDelta(t, 1, rounds[queue][0][costOfBare], 1e-9, "4 µs, of 3 before and 5 after")
	assert.InDelta(t, 1, rounds[bare][1][ofBare]*rounds[bare][1][costOfBare], 0, "itself")

	played, rounds = nil, map[string][]figures{}
	require.NoError(t, playRound([]path{pathCalled(batch)}, rounds, minutes))
	require.Equal(t, []string{batch}, played, "nobody asked for the bare route")
	assert.Zero(t, rounds[batch][0][ofBare])
}

func report() *Report {
	r := &Report{Environment: []string{"today", "a <machine> & more"}, Ordering: batch, Audits: 2}
	for i, share := range loads {
		row := Row{Name: "some", At: share * 1000}
		row.figures[rate], row.figures[p99], row.figures[p50] = min(row.At, 1000), float64(i*i), float64(i)
		r.Load = append(r.Load, row)
	}
	r.Paths = []Row{{Name: batch}}
	r.Paths[0].figures[ofSingle], r.Paths[0].figures[asked] = 12, 12345
	return r
}

func TestTable_Report_HasColumnsAndVerdict(t *testing.T) {
	r := report()
	var text bytes.Buffer
	require.NoError(t, r.WriteText(&text))
	assert.Contains(t, text.String(), "| path | CPU of all processes, µs | of a bare request's | asked | accepted | committed | refused | failed |")
	assert.Contains(t, text.String(), "| batch | 0.0 | 0.00 | 12,345 |")
	assert.Contains(t, text.String(), "audit: clean after every one of 2 measurements")
	require.NoError(t, r.Verdict())
	r.Violations = []string{"a unit was sold twice"}
	require.ErrorIs(t, r.Verdict(), ErrNoSpeed)
	text.Reset()
	require.NoError(t, r.WriteText(&text))
	assert.Contains(t, text.String(), "VIOLATED, so these are no speeds\n  - a unit was sold twice")
}

func TestReport_JSON_HasTheFieldsOfScripts(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, report().WriteJSON(&text))
	var read struct {
		Violations []string
		Paths      []struct {
			Name    string
			Figures map[string]float64
		}
	}
	require.NoError(t, json.Unmarshal(text.Bytes(), &read))
	assert.NotNil(t, read.Violations)
	assert.Equal(t, batch, read.Paths[0].Name)
	assert.InDelta(t, 12345, read.Paths[0].Figures["asked"], 0)
	assert.Len(t, read.Paths[0].Figures, int(metrics), "each has a name of its own")
}

func TestPlot_AnyReport_IsWellFormedXML(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, report().WriteSVG(&text))
	points := 0
	for d := xml.NewDecoder(&text); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
			points++
		}
	}
	assert.Equal(t, 3*len(loads), points, "committed, p50 and p99")
}

func TestOptions_NegativeConnections_IsRefused(t *testing.T) {
	_, err := Run(t.Context(), Options{Connections: -5})
	require.EqualError(t, err, "connections: -5 are fewer than none")
}

func TestBench_QuickRun_JudgesNoTarget(t *testing.T) {
	r := report()
	require.NotEmpty(t, r.Targets())
	r.Quick = true
	require.Empty(t, r.Targets())
}

// What the program is held to stands beside what the machine leaves to a route that does nothing.
func TestTarget_Report_ShowsBaselineRoute(t *testing.T) {
	row := func(perSecond, late, mib, cpu float64) []Row {
		var f figures
		f[rate], f[p99], f[memory], f[cpuAll] = perSecond, late, mib, cpu
		return []Row{{figures: f}}
	}
	r := report()
	r.Peak, r.BarePeak = row(1000, 0, 100, 0)[0].figures, row(20_000, 0, 50, 0)[0].figures
	r.Overload, r.BareOverload, r.BareLoad = row(600, 0, 200, 0), row(14_000, 0, 110, 0), row(16_000, 39, 0, 0)
	r.Fleets = slices.Concat(row(0, 0, 0, 200), row(0, 0, 0, 300), row(0, 0, 0, 250), row(0, 0, 0, 400)) // the others have more masters
	r.BareFleets = slices.Concat(row(0, 0, 0, 50), row(0, 0, 0, 55))
	r.Fleets[0].At, r.Fleets[1].At, r.Fleets[2].At, r.Fleets[3].At = 1, 1, 2, 2
	r.BareFleets[0].At, r.BareFleets[1].At = 1, 2
	var text bytes.Buffer
	require.NoError(t, r.WriteText(&text))
	assert.Contains(t, text.String(), "| p99 at 80 % of the peak, ms | 9 | ≤ 25 | 39 | met |")
	assert.Contains(t, text.String(), "| goodput at 10 times the peak, of the peak | 0.6 | ≥ 0.9 | 0.7 | not met |")
	assert.Contains(t, text.String(), "| memory at 10 times the peak, of that at the peak | 2 | ≤ 1.2 | 2.2 | not met |")
	assert.Contains(t, text.String(), "| CPU of an order of two instances, of one's | 1.25 | ≤ 1.1 | 1.1 | not met |")
	assert.Contains(t, text.String(), "| memory at the peak, MiB | 100 | ≤ 150 | – | met |")
}

func TestTarget_Missed_IsNotMet(t *testing.T) {
	assert.False(t, Target{Is: 9, Least: 10}.Met())
	assert.True(t, Target{Is: 10, Least: 10}.Met())
	assert.False(t, Target{Is: 26, Most: 25}.Met())
	assert.True(t, Target{Is: 0, Most: 0.01}.Met())
}
