package api

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/platform/ratelimit"
)

// Server is the HTTP API. Its Handler is served by the caller's http.Server.
type Server struct {
	o         Options
	deps      Deps
	engine    *gin.Engine
	admin     *gin.Engine // of the administrator's routes; the same, or another
	tokens    *auth.Tokens
	users     limits[int64]
	addresses limits[string] // that log in
	clients   limits[string] // addresses, of every request
	hub       *hub

	// Every request writes these, so they share no cache line with what every request reads.
	_        [64]byte
	inFlight atomic.Int64
	buying   atomic.Int64 // the purchases among them
	_        [64]byte
}

// releaseMode sets gin's only global: without it, gin writes to standard output.
var releaseMode = sync.OnceFunc(func() { gin.SetMode(gin.ReleaseMode) })

// New returns the API. It fails if a dependency is missing or a proxy's address cannot be read.
func New(o Options, p Deps) (*Server, error) {
	releaseMode()
	o = o.withDefaults()
	if o.Tokens == nil || p.Coupons == nil || p.Editor == nil || p.Orders == nil || p.Payments == nil ||
		p.Stock == nil || p.Auditor == nil || p.SaleStatus == nil {
		return nil, errMissingDep
	}
	s := &Server{
		o: o, deps: p, tokens: o.Tokens,
		users: newLimits("user", ratelimit.Options[int64]{
			PerSecond: o.PerUserRate, Burst: o.Burst, Now: o.Now, Key: userBucket,
		}),
		addresses: newLimits("address", ratelimit.Options[string]{
			PerSecond: o.SessionRate, Burst: o.Burst, Now: o.Now, Key: sessionBucket,
		}),
		clients: newLimits("address", ratelimit.Options[string]{
			PerSecond: o.AddressRate, Burst: 2 * o.AddressRate, Now: o.Now, Key: addressBucket,
		}),
		hub: newHub(p, o),
	}
	var err error
	if s.engine, err = s.newEngine(o.Hosts); err != nil {
		return nil, err
	}
	s.admin = s.engine
	if o.AdminApart { // AdminHandler looks at the hosts of its listener
		if s.admin, err = s.newEngine(nil); err != nil {
			return nil, err
		}
	}
	s.adminRoutes()
	if err := s.routes(); err != nil {
		return nil, err
	}
	return s, nil
}

// newEngine returns a router without routes that answers to these hosts; nil is all.
func (s *Server) newEngine(hosts []string) (*gin.Engine, error) {
	e := gin.New()
	if hosts != nil {
		e.Use(s.onlyHosts())
	}
	e.HandleMethodNotAllowed = true
	// An encoded slash does not separate, so that a proxy's rule for a path and this program agree
	// on the path; and the client's address is read from one header.
	e.UseRawPath, e.UnescapePathValues = true, false
	e.RemoteIPHeaders = []string{"X-Forwarded-For"}
	e.RedirectTrailingSlash = false
	e.NoRoute(s.noRoute())
	e.NoMethod(s.observe(s.noMethod))
	if err := e.SetTrustedProxies(s.o.TrustedProxies); err != nil {
		return nil, fmt.Errorf("api: trusted proxies: %w", err)
	}
	return e, nil
}

// Handler returns the handler of every route of the contract, but those of AdminRoutes.
func (s *Server) Handler() http.Handler { return s.engine }

// AdminRoutes returns the handler of the administrator's routes, or nil if they are Handler's.
func (s *Server) AdminRoutes() http.Handler {
	if !s.o.AdminApart {
		return nil
	}
	return s.admin
}

// Close ends the event streams at once, so that a graceful stop need not wait for them, and returns
// when they have ended. Other requests go on.
func (s *Server) Close() { s.hub.close() }

// Watched reports whether a page follows a sale.
func (s *Server) Watched() bool { return s.hub.watched() }

// slow is the budget of routes that read or load a whole sale, and long that of an audit, of ten
// million orders, say. Memory is bounded by reading page by page.
const (
	slow = 30 * time.Second
	long = 10 * time.Minute
)

const v1 = "/api/v1"

// on adds a route, and its HEAD to a GET.
func (s *Server) on(engine *gin.Engine, method, path string, e endpoint) {
	engine.Handle(method, path, s.observe(e))
	if method == http.MethodGet {
		engine.HEAD(path, s.observe(e))
	}
}

// routes registers the routes of visitors and users.
func (s *Server) routes() error {
	get := func(path string, e endpoint) { s.on(s.engine, http.MethodGet, path, e) }
	post := func(path string, e endpoint) { s.on(s.engine, http.MethodPost, path, e) }

	post(v1+"/sessions", handle(s, routePolicy{admits: s.admitSession}, s.newSession))

	get(v1+"/features", handle(s, routePolicy{}, s.features))
	get(v1+"/coupons", handle(s, routePolicy{who: visitor, shared: true}, s.listCoupons))
	get(v1+"/coupons/:id", handle(s, routePolicy{who: visitor, shared: true}, s.getCoupon))
	get(v1+"/coupons/:id/draw", handle(s, routePolicy{who: visitor, shared: true}, s.getDraw))
	get(v1+"/coupons/:id/live", s.live)
	s.engine.POST(v1+"/coupons/:id/orders",
		s.observe(handle(s, routePolicy{who: user, buys: true}, s.place), s.o.ObservePurchase))

	post(v1+"/coupons/:id/purchase-tokens", handle(s, routePolicy{who: user}, s.issuePurchaseToken))

	get(v1+"/orders", handle(s, routePolicy{who: user}, s.listOrders))
	get(v1+"/orders/:id", handle(s, routePolicy{who: user}, s.getOrder))
	get(v1+"/orders/:id/trace", handle(s, routePolicy{who: user}, s.traceOrder))
	post(v1+"/orders/:id/payment", handle(s, routePolicy{who: user}, s.pay))
	post(v1+"/orders/:id/cancellation", handle(s, routePolicy{who: user}, s.cancel))

	get(v1+"/experiments", handle(s, routePolicy{}, s.listExperiments))
	get(v1+"/experiments/:name", handle(s, routePolicy{}, s.seeExperiment))

	return s.pages(get)
}

// adminRoutes registers the routes of the administrator.
func (s *Server) adminRoutes() {
	get := func(path string, e endpoint) { s.on(s.admin, http.MethodGet, path, e) }
	on := func(method, path string, e endpoint) { s.on(s.admin, method, path, e) }

	on(http.MethodPost, v1+"/admin/coupons", handle(s, routePolicy{who: admin}, s.createCoupon))
	on(http.MethodPatch, v1+"/admin/coupons/:id", handle(s, routePolicy{who: admin}, s.patchCoupon))
	on(http.MethodPost, v1+"/admin/coupons/:id/publication", handle(s, routePolicy{who: admin, budget: slow}, s.publish))
	on(http.MethodDelete, v1+"/admin/coupons/:id/publication", handle(s, routePolicy{who: admin}, s.pause))
	get(v1+"/admin/coupons/:id/audit", handle(s, routePolicy{who: admin, budget: long}, s.audit))
	on(http.MethodPost, v1+"/admin/coupons/:id/repair", handle(s, routePolicy{who: admin, budget: long}, s.repair))

	get(v1+"/admin/rush", handle(s, routePolicy{who: admin}, s.seeRush))
	on(http.MethodPost, v1+"/admin/rush", handle(s, routePolicy{who: admin}, s.startRush))
	on(http.MethodDelete, v1+"/admin/rush", handle(s, routePolicy{who: admin}, s.stopRush))

	on(http.MethodPost, v1+"/admin/experiments/:name/run", handle(s, routePolicy{who: admin}, s.runExperiment))
}

// noMethod answers OPTIONS with the methods of the route, and every other method with 405. gin has
// set Allow already.
func (s *Server) noMethod(c *gin.Context) string {
	if c.Request.Method == http.MethodOptions {
		c.Writer.Header()["Allow"] = []string{c.Writer.Header().Get("Allow") + ", OPTIONS"}
		c.Status(http.StatusNoContent)
		c.Writer.WriteHeaderNow()
		return ""
	}
	return s.refuse(c, errMethod)
}
