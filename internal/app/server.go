package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"example.com/seckill/internal/api"
	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/audit"
	"example.com/seckill/internal/config"
	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/platform/system"
)

// Server is the application with its two listeners.
type Server struct {
	app       *App
	api       *api.Server
	tokens    *auth.Tokens
	public    *http.Server
	admin     *http.Server
	URL       string // of the page and the API
	adminURL  string // of the administrator's routes
	adminAddr string
	draining  atomic.Bool
	failed    chan error // why a listener ended before Stop
}

// listeners are opened before anything else is built: a port in use is the most common
// mistake, and is reported first.
type listeners struct {
	public, admin net.Listener
	stopWatch     func() // over the files of the certificate
}

// ListenError means that the program cannot listen on http.addr.
type ListenError struct{ Err error }

// Error names the settings of serve.
func (e *ListenError) Error() string {
	return fmt.Sprintf("http.addr: %v: choose another with --addr or SECKILL_HTTP__ADDR", e.Err)
}

// Unwrap returns the error of the system.
func (e *ListenError) Unwrap() error { return e.Err }

func listen(ctx context.Context, cfg config.Config, log *slog.Logger) (l listeners, err error) {
	most, err := maxConnections(cfg, system.DescriptorLimit())
	if err != nil {
		return l, err
	}
	var lc net.ListenConfig
	if l.public, err = lc.Listen(ctx, "tcp", cfg.HTTP.Addr); err != nil {
		return l, &ListenError{err}
	}
	if l.admin, err = listenAdmin(ctx, lc, cfg); err != nil {
		return l, errors.Join(fmt.Errorf("admin.addr: %w: choose another with SECKILL_ADMIN__ADDR", err), l.public.Close())
	}
	if l.stopWatch, err = l.secure(cfg, log); err != nil {
		return l, errors.Join(err, l.public.Close(), l.admin.Close())
	}
	public, err := api.Listen(l.public, api.ConnLimits{
		Max: most, PerAddress: perAddress(cfg.HTTP, most), TrustedProxies: cfg.HTTP.TrustedProxies, Log: log,
	})
	if err != nil {
		return l, errors.Join(err, l.close())
	}
	l.public = public
	l.admin, err = api.Listen(l.admin, api.ConnLimits{Max: adminConnections, Log: log})
	return l, err
}

// listenAdmin opens the second listener. A program with embedded stores takes a free port if another program has the
// default one: a user who tries both has set no address.
func listenAdmin(ctx context.Context, lc net.ListenConfig, cfg config.Config) (net.Listener, error) {
	l, err := lc.Listen(ctx, "tcp", cfg.Admin.Addr)
	if err == nil || !cfg.Embedded() || cfg.Admin.Addr != config.Default().Admin.Addr {
		return l, err //nolint:wrapcheck // the caller names the setting
	}
	free, none := lc.Listen(ctx, "tcp", net.JoinHostPort(hostOf(cfg.Admin.Addr), "0"))
	if none != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	return free, nil
}

func (l listeners) close() error {
	l.stopWatch()
	return errors.Join(l.public.Close(), l.admin.Close())
}

// scheme is that of a listener.
func scheme(encrypted bool) string {
	if encrypted {
		return "https://"
	}
	return "http://"
}

// newServer serves the app over HTTP. It takes ownership of the listeners.
func newServer(a *App, l listeners, o Options) (*Server, error) {
	cfg := a.cfg
	s := &Server{app: a, URL: scheme(cfg.HTTP.TLSCert != "") + l.public.Addr().String(), failed: make(chan error, 2)}
	if s.adminURL = s.URL; cfg.Admin.ServeAPI {
		s.adminURL = scheme(cfg.Admin.TLS) + l.admin.Addr().String()
	}
	a.onStop(func(context.Context) error { l.stopWatch(); return nil })
	hosts := api.LoopbackHosts(l.public.Addr(), append([]string{hostOf(cfg.HTTP.Addr)}, cfg.HTTP.Hosts...)...)
	if err := s.openAPI(o, hosts); err != nil {
		return nil, errors.Join(err, l.close())
	}
	s.public, s.admin = s.publicServer(), s.adminServer(api.LoopbackHosts(l.admin.Addr(), hostOf(cfg.Admin.Addr)))
	go s.serve(s.public, l.public)
	go s.serve(s.admin, l.admin)
	return s, nil
}

// hostOf returns the host of a listener's address in the configuration, which was validated.
func hostOf(addr string) string {
	host, _, _ := net.SplitHostPort(addr)
	return host
}

// openAPI builds the API, which answers to these hosts, and what signs and checks its tokens.
func (s *Server) openAPI(o Options, hosts []string) error {
	a, cfg := s.app, s.app.cfg
	tokens, stopTokens, err := openTokens(cfg.Auth, a.clock.Now, a.log)
	if err != nil {
		return err
	}
	s.tokens = tokens
	a.onStop(func(context.Context) error { stopTokens(); return nil })
	purchaseTokens, err := newPurchaseTokens(cfg, a.clock.Now)
	if err != nil {
		return err
	}
	s.api, err = api.New(api.Options{
		PurchaseTokens: purchaseTokens,
		Tokens:         s.tokens, DemoLogin: cfg.Auth.DemoLogin, DemoAdmin: a.embedded != nil, AdminApart: cfg.Admin.ServeAPI,
		RequestTimeout: cfg.HTTP.RequestTimeout, MaxInFlight: cfg.HTTP.MaxInFlight,
		MaxStreams: cfg.HTTP.MaxStreams, MaxStreamsPerAddress: cfg.HTTP.MaxStreamsPerAddress,
		PerUserRate: cfg.RateLimit.PerUser, Burst: cfg.RateLimit.Burst, SessionRate: cfg.RateLimit.Logins, AddressRate: cfg.RateLimit.PerAddress,
		TrustedProxies: cfg.HTTP.TrustedProxies, Hosts: hosts, Log: a.log,
		Observe: a.metrics.ObserveRequest, ObservePurchase: a.metrics.ObservePurchase,
		ObserveUnavailable: a.observeUnavailable,
		Trace:              traceRequests(a.traces),
		Now:                a.clock.Now,
	}, s.apiDeps(o))
	if err == nil && a.embedded == nil && !cfg.RateLimit.PerInstance {
		a.shareRates(s.api.RateLimits())
	}
	return err
}

// apiDeps returns what the API is made of, with the tools of the page.
func (s *Server) apiDeps(o Options) api.Deps {
	a := s.app
	deps := api.Deps{
		Coupons: a.Coupons, Editor: a.Coupons, Orders: ordersOf(a), Payments: a.orders, Stock: a.Stock,
		Auditor: auditReports{a.Auditor}, SaleStatus: saleStatus{a}, Unpaid: a.unpaid, Traces: keptTracesOf(a.traces),
		Numbers: a.store, Gallery: o.Gallery,
	}
	if a.lottery != nil {
		deps.Draws = a.lottery
	}
	a.useDesign(&deps)
	if o.NewLab != nil {
		experiments := o.NewLab(a.embedded != nil)
		a.onStop(func(context.Context) error { return experiments.Close() })
		deps.Lab = experiments
	}
	if a.embedded != nil && o.NewRush != nil {
		rushes := o.NewRush(s)
		a.onStop(func(context.Context) error { return rushes.Close() })
		deps.Rush = rushes
	}
	if a.cfg.Order.VerifyURL != "" {
		prover := newHTTPProver(a.cfg.Order.VerifyURL)
		a.onStop(prover.close)
		deps.Prover = prover
	}
	return deps
}

// maxHeaderBytes bounds the headers of a request.
const maxHeaderBytes = 16 << 10

// publicServer serves the page and the API.
func (s *Server) publicServer() *http.Server {
	cfg := s.app.cfg.HTTP
	return &http.Server{
		Handler: s.closeWhileDraining(s.api.Handler()), ConnContext: api.ConnContext,
		ReadTimeout: cfg.ReadTimeout, WriteTimeout: cfg.WriteTimeout, IdleTimeout: cfg.IdleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(s.app.log.Handler(), slog.LevelDebug),
		DisableGeneralOptionsHandler: true, // the engine answers OPTIONS * too, within its limits
	}
}

// adminServer serves health, metrics and profiles, and with admin.serve_api the administrator's routes. A profile may
// take long to write.
func (s *Server) adminServer(hosts []string) *http.Server {
	cfg := s.app.cfg.HTTP
	handler := api.AdminHandler(api.AdminOptions{
		Ready: s.ready, Metrics: s.app.metrics.Handler(), API: s.api.AdminRoutes(), Hosts: hosts,
	})
	return &http.Server{
		Handler: faulty(faults.Admin, handler), ConnContext: api.ConnContext,
		ReadTimeout: cfg.ReadTimeout, IdleTimeout: cfg.IdleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(s.app.log.Handler(), slog.LevelDebug),
		DisableGeneralOptionsHandler: true,
	}
}

func (s *Server) serve(h *http.Server, l net.Listener) {
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		s.failed <- err
	}
}

// closeWhileDraining asks clients to close their connections while the server drains, instead
// of cutting an idle connection just as a client writes to it.
func (s *Server) closeWhileDraining(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) ready(ctx context.Context) error {
	if s.draining.Load() {
		return errors.New("shutting down")
	}
	return s.app.ready(ctx)
}

// Stop ends the server so that no request is lost:
//
//	not ready ─▶ http.drain_delay: requests still come ─▶ finish what is in flight ─▶ app
//
// A load balancer has the delay to notice that the instance is not ready. Requests in flight then have
// http.shutdown_timeout, and so has the app.
func (s *Server) Stop(ctx context.Context) error {
	s.draining.Store(true)
	select {
	case <-time.After(s.app.cfg.HTTP.DrainDelay):
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(ctx, s.app.cfg.HTTP.ShutdownTimeout)
	defer cancel()
	s.api.Close() // event streams have no end of their own
	err := s.public.Shutdown(ctx)
	if s.app.cfg.Admin.ServeAPI { // its requests need the app too
		err = errors.Join(err, s.admin.Shutdown(ctx))
	}
	err = errors.Join(err, s.app.Close(context.WithoutCancel(ctx)))
	// A scraper or a profile that is still read has no say in when and how the program ends.
	ctx, cancelScrapes := context.WithTimeout(context.WithoutCancel(ctx), scrapeTimeout)
	defer cancelScrapes()
	_ = s.admin.Shutdown(ctx)
	return errors.Join(err, s.public.Close(), s.admin.Close())
}

// scrapeTimeout is how long a request for metrics or a profile may go on after all else has stopped.
const scrapeTimeout = time.Second

// Watched reports whether a page follows a sale.
func (s *Server) Watched() bool { return s.api.Watched() }

// Unfinished describes for people the work that an immediate end of the process would cut off.
func (s *Server) Unfinished() string {
	cut := fmt.Sprintf("%d requests in flight were cut off", s.api.InFlight())
	if s.Embedded() {
		return cut + ", and the embedded stores are gone"
	}
	return cut + ", and locks, holds and queue entries in hand are left to the other instances"
}

// auditReports implements api.Auditor.
type auditReports struct{ *audit.Auditor }

func (r auditReports) Audit(ctx context.Context, id int64) (any, error) {
	return r.Auditor.Audit(ctx, id)
}

func (r auditReports) Repair(ctx context.Context, id int64) (any, error) {
	return r.Auditor.Repair(ctx, id)
}

// saleStatus implements api.SaleStatus: it shows how the app works at a sale.
type saleStatus struct{ *App }

// Ledger reads the database.
func (s saleStatus) Ledger(ctx context.Context, couponID int64) (api.Ledger, error) {
	l, err := s.store.Ledger(ctx, couponID)
	return api.Ledger(l), err
}

// LiveStats reads the holds and returns from Redis; the rest is known to this instance.
func (s saleStatus) LiveStats(ctx context.Context, c coupon.Coupon) (api.LiveStats, error) {
	holds, cameBack, err := s.Stock.CountHolds(ctx, c.ID, c.Shards)
	if err != nil {
		return api.LiveStats{}, err
	}
	live := &s.metrics.Live
	p := api.LiveStats{Holds: holds, CameBack: cameBack, Lent: live.Lent(c.ID, c.Shards), P99: live.P99()}
	p.LocksHeld, p.LocksWaiting = live.Locks()
	for _, i := range s.fleet.Peers() {
		p.Instances = append(p.Instances, api.Instance{
			Name: i.Name, SoldOut: slices.Contains(i.SoldOut, c.ID), Self: i.Name == s.fleet.Name(),
		})
	}
	return p, nil
}
