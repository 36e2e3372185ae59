package faults

import (
	"encoding/json"
	"io"
	"net/http"
)

// Path is where the second listener of an instance receives its faults.
const Path = "/faults"

// maxSpec bounds the body.
const maxSpec = 16 << 10

// Handler serves Path, and passes every other request to next:
//
//	PUT /faults     arms the faults in the body, as Parse reads them, and forgets the others
//	GET /faults     returns the State
//	PUT /faults/clock   sets the time of day ahead by the duration in the body, or back
func (p *Points) Handler(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", next)
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, _ *http.Request) { p.tell(w) })
	mux.HandleFunc("PUT "+Path, p.taking(func(text string) error {
		all, err := Parse(text)
		if err == nil {
			p.Arm(all...)
		}
		return err
	}))
	mux.HandleFunc("PUT "+ClockPath, p.taking(p.setClock))
	return mux
}

// taking serves a request whose body take takes, or refuses with an error.
func (p *Points) taking(take func(text string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(io.LimitReader(r.Body, maxSpec))
		if err == nil {
			err = take(string(text))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		p.tell(w)
	}
}

func (p *Points) tell(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(p.State()) //nolint:errchkjson // the client is gone
}
