package rush

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// sale is the coupon as the server shows it without a token.
type sale struct {
	Stock int `json:"stock"`
	Left  int `json:"left"`
	Limit int `json:"limit_per_user"`
}

// refusal is an answer to the generator's own questions that is not a 200.
type refusal struct {
	path   string
	status int
	code   string
}

func (e *refusal) Error() string {
	return fmt.Sprintf("GET %s: %d %s", e.path, e.status, e.code)
}

// get reads JSON that is not of a buyer: the coupon and the audit.
func (r *run) get(ctx context.Context, path, token string, into any) error {
	return getBy(ctx, r.client, r.root+r.prefix, path, token, into)
}

// followRaise reads the stock again if more units were acknowledged than it had at the start: an
// administrator may have raised it. An instance shows a raise that another instance made after its next
// refresh, so followRaise asks for up to raiseShownIn.
func (r *run) followRaise(ctx context.Context) {
	live := 0
	for _, a := range r.acks {
		if a.live(time.Now()) {
			live++
		}
	}
	for until := time.Now().Add(raiseShownIn); live > r.stock; {
		stock, err := r.readStock(ctx)
		if err != nil {
			return // the record is then compared with the stock at the start
		}
		r.stock = max(r.stock, stock)
		if time.Now().After(until) || !sleep(ctx, 100*time.Millisecond) {
			return
		}
	}
}

// readStock returns the units that may be sold in all: of the audit if the run has one, otherwise of the page.
func (r *run) readStock(ctx context.Context) (int, error) {
	if r.AdminToken != "" {
		in, err := r.fetchAudit(ctx)
		return in.Total, err
	}
	var now sale
	err := r.get(ctx, "/api/v1/coupons/"+r.Coupon, "", &now)
	return now.Stock, err
}

// raiseShownIn is longer than the default of coupon.cache_refresh, 500 ms.
const raiseShownIn = 1500 * time.Millisecond

func getBy(ctx context.Context, client *http.Client, root, path, token string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, root+path, nil)
	if err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return &refusal{path, resp.StatusCode, parseAnswer(resp.StatusCode, resp.Header, body).code}
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}
