package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"time"
)

// AdminOptions configures the second listener.
type AdminOptions struct {
	// Ready returns why the instance cannot serve, or nil. Its context ends after readyWithin.
	Ready func(ctx context.Context) error
	// Metrics serves /metrics.
	Metrics http.Handler
	// API serves the administrator's routes, if they are not public: Server.AdminRoutes.
	API http.Handler
	// Hosts are what the listener answers to, with any port; nil is all: see LoopbackHosts.
	Hosts []string
}

// readyWithin bounds the check of readiness: a probe wants a quick answer.
const readyWithin = 2 * time.Second

// AdminHandler returns a handler of /healthz (the process runs), /readyz (it can serve), /metrics,
// /debug/pprof and, where they are not public, the administrator's routes. It shows what a client must
// not see, so its listener must not be public.
func AdminHandler(o AdminOptions) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyWithin)
		defer cancel()
		if o.Ready != nil {
			if err := o.Ready(ctx); err != nil {
				writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "not ready", "reason": err.Error()})
				return
			}
		}
		writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
	})
	if o.Metrics != nil {
		mux.Handle("GET /metrics", o.Metrics)
	}
	if o.API != nil {
		mux.Handle(v1+"/admin/", o.API)
	}
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return onlyHosts(o.Hosts, mux)
}

func writeJSON(w http.ResponseWriter, status int, body map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // the client is gone
}
