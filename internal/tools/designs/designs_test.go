package designs_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/app"
	"example.com/seckill/internal/audit"
	"example.com/seckill/internal/config"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/store"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/designs"
	"example.com/seckill/internal/tools/lab"
	"example.com/seckill/internal/tools/rush"
	"example.com/seckill/internal/tools/servers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

// The crowd of the tests. At this size each wrong design fails in ten of ten runs.
const (
	people = 400
	units  = 100 // of a sale that many people miss
	// On a busy machine requests may follow each other without any overlap for a moment. So the design that needs an
	// overlap of any two requests has more units, each of which is a chance.
	naivePeople, naiveUnits = 1500, 1000
)

// embeddedStores and realStores return the configuration of a server with stores of its own.
func embeddedStores(testing.TB) config.Config {
	cfg := config.Default()
	cfg.HTTP.Addr, cfg.Admin.Addr, cfg.HTTP.DrainDelay = "127.0.0.1:0", "127.0.0.1:0", 0
	cfg.Log.Level = "error"
	return cfg
}

func realStores(t testing.TB) config.Config {
	dsn := testservers.MigratedDSN(t, func(ctx context.Context, dsn string) error {
		s, err := store.Open(ctx, store.Options{MySQL: dsn, TxTimeout: time.Minute})
		if err != nil {
			return err
		}
		defer s.Close() //nolint:errcheck // a pool of a test
		_, err = s.Migrate(ctx)
		return err
	})
	cfg := embeddedStores(t)
	cfg.MySQL.DSN, cfg.Redis.Addrs = config.Secret(dsn), []string{testservers.Redis(t).Addr()}
	cfg.Redis.Prefix = "d" + strings.ToLower(regexp.MustCompile(`\W`).ReplaceAllString(dsn[strings.LastIndex(dsn, "/"):], "")) + ":"
	cfg.Auth.Secret = "a secret of thirty-two characters"
	return cfg
}

// start starts a server with the design.
func start(t testing.TB, cfg config.Config, name string) (*app.Server, error) {
	open, err := designs.New(name, true)
	require.NoError(t, err)
	return app.Start(t.Context(), cfg, slog.New(slog.DiscardHandler), app.Options{NewDesign: open})
}

// sale puts a coupon on sale with the design, sends the crowd to it, and returns both reports.
func sale(t testing.TB, cfg config.Config, name string, stock int64, o rush.Options) (rush.Report, audit.Report) {
	s, err := start(t, cfg, name)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Stop(context.Background())) }()
	now := time.Now()
	require.NoError(t, s.Sell(t.Context(), coupon.Coupon{
		Title: "Flash sale", Total: stock, LimitPerUser: 1, PriceCents: 990, BeginsAt: now.Add(-time.Minute), EndsAt: now.Add(time.Hour),
	}))
	o.URL, o.AdminURL, o.Token, o.Keys = s.URL, s.AdminURL(), s.UserToken, true
	o.AdminToken, err = s.Token(1, auth.RoleAdmin)
	require.NoError(t, err)
	r, err := rush.Run(t.Context(), o)
	require.NoError(t, err)
	var found audit.Report
	at := s.AdminURL() + "/api/v1/admin/coupons/1/audit"
	require.NoError(t, servers.AskJSON(t.Context(), http.DefaultClient, http.MethodGet, at, o.AdminToken, nil, &found))
	http.DefaultClient.CloseIdleConnections()
	return r, found
}

// onStores runs a test of a design on embedded and on real stores, ten times with TEST_ALL.
func onStores(t *testing.T, d designs.Design, test func(t *testing.T, stores func(testing.TB) config.Config)) {
	runs := 1
	if testservers.All() {
		runs = 10
	}
	for range runs {
		if d.Servers == "" {
			t.Run(d.Name+" embedded", func(t *testing.T) { test(t, embeddedStores) })
		}
		t.Run(d.Name+" real", func(t *testing.T) { test(t, realStores) })
	}
}

func TestWrongDesign_CrowdOfTest_BreaksItsInvariant(t *testing.T) {
	for _, d := range designs.All() {
		if !d.Wrong() {
			continue
		}
		onStores(t, d, func(t *testing.T, stores func(testing.TB) config.Config) {
			users, stock := naivePeople, int64(naiveUnits)
			if d.Violates == "I3" { // there are units for everyone who asks twice
				users, stock = people, 2*people
			}
			r, found := sale(t, stores(t), d.Name, stock, rush.Options{Users: users, DoubleTapEvery: 1})
			require.Equal(t, rush.AuditViolated, r.Audit)
			require.Contains(t, strings.Join(found.Violations, "\n"), d.Violates+":")
			if d.Violates == "I3" {
				require.Positive(t, r.Duplicates)
				require.Zero(t, r.Oversold, "the stock is right")
				require.Len(t, found.Violations, 1, "%v", found.Violations)
			} else {
				require.Positive(t, r.Oversold)
			}
		})
	}
}

func TestRightDesign_CrowdOfTest_IsAuditedClean(t *testing.T) {
	for _, d := range designs.All() {
		if d.Wrong() {
			continue
		}
		onStores(t, d, func(t *testing.T, stores func(testing.TB) config.Config) {
			r, found := sale(t, stores(t), d.Name, units, rush.Options{Users: people, DoubleTapEvery: 3})
			require.Empty(t, r.Violations)
			require.True(t, found.Clean && found.Settled && found.Loaded, "%+v", found)
			require.Equal(t, []int64{0, units}, []int64{found.Stock, found.Live})
			require.True(t, r.Clean(), "%+v", r)
			require.Equal(t, []int{units, units, 0}, []int{r.Committed, r.Accepted, r.Failed}, "%+v", r)
		})
	}
}

// Half of the buyers cancel, and the units are sold once more or are left. The audit counts each of them once.
func TestRightDesign_BuyersCancel_UnitsAreCountedOnce(t *testing.T) {
	for _, d := range designs.All() {
		if d.Wrong() || d.Servers == "" && !testservers.All() {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			r, _ := sale(t, realStores(t), d.Name, units, rush.Options{Users: people, PayPercent: 30, CancelPercent: 50})
			require.Empty(t, r.Violations)
			require.True(t, r.Clean(), "%+v", r)
			require.Positive(t, r.Cancelled)
		})
	}
}

func TestDesign_DatabaseOfAnotherDesign_IsRefused(t *testing.T) {
	cfg := realStores(t)
	s, err := start(t, cfg, "conditional-update")
	require.NoError(t, err)
	require.NoError(t, s.Stop(context.Background()))
	s, err = start(t, cfg, designs.Own)
	require.NoError(t, err, "no order was made")
	require.NoError(t, s.Stop(context.Background()))

	r, _ := sale(t, cfg, "conditional-update", units, rush.Options{Users: 3})
	require.True(t, r.Clean())
	for _, other := range []string{designs.Own, "", "naive", "for-update"} {
		_, err := start(t, cfg, other)
		require.ErrorContains(t, err, "the database holds orders of the design conditional-update", other)
	}
	s, err = start(t, cfg, "conditional-update")
	require.NoError(t, err, "it is the same")
	require.NoError(t, s.Stop(context.Background()))
}

func TestDesign_DatabaseOfTheOrderService_IsRefused(t *testing.T) {
	cfg := realStores(t)
	r, _ := sale(t, cfg, designs.Own, units, rush.Options{Users: 3})
	require.True(t, r.Clean())
	_, err := start(t, cfg, "conditional-update")
	require.ErrorContains(t, err, "the database holds orders of the design seckill")
}

func TestNew_WrongDesignWithoutVariable_IsRefused(t *testing.T) {
	for _, d := range designs.All() {
		_, err := designs.New(d.Name, false)
		if d.Wrong() {
			require.ErrorContains(t, err, config.WrongDesignVariable+"=1", d.Name)
		} else {
			require.NoError(t, err, d.Name)
		}
	}
	_, err := designs.New("none", true)
	require.ErrorContains(t, err, "none of seckill, naive")
}

func TestNew_EmbeddedStoresHideTheDesign_IsRefused(t *testing.T) {
	for _, d := range designs.All() {
		if d.Servers == "" {
			continue
		}
		_, err := start(t, embeddedStores(t), d.Name)
		require.ErrorContains(t, err, "--design "+d.Name+" needs real servers: the embedded database")
	}
}

// A reader finds each design in a file of its own, with its source and the experiment of the lab.
func TestDesigns_Files_AreShortAndNameTheirSource(t *testing.T) {
	for _, d := range designs.All() {
		text, err := os.ReadFile(strings.ReplaceAll(d.Name, "-", "_") + ".go")
		require.NoError(t, err)
		require.LessOrEqual(t, strings.Count(string(text), "\n"), 150, d.Name)
		require.Regexp(t, `^https://`, d.Source, d.Name)
		require.Contains(t, string(text), "// "+map[bool]string{true: "Wrong", false: "Right"}[d.Wrong()], d.Name)
		_, err = lab.Find(d.Experiment)
		require.NoError(t, err, d.Name)
		require.Regexp(t, d.Experiment+`( and [a-z-]+)? of the lab`, strings.ReplaceAll(string(text), "\n// ", " "), d.Name)
	}
}
