package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/config"
	"example.com/seckill/internal/order"
)

// proofTimeout bounds one question to order.verify_url.
const proofTimeout = time.Second

// httpProver implements auth.Prover by asking order.verify_url.
type httpProver struct {
	url    string
	client *http.Client
}

func newHTTPProver(url string) *httpProver {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}
	return &httpProver{url: url, client: &http.Client{
		Transport: transport, Timeout: proofTimeout,
		// The proof is for this server alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (p *httpProver) close(context.Context) error {
	p.client.CloseIdleConnections()
	return nil
}

// Prove implements auth.Prover. A 2xx accepts the proof, a 403 does not, and whatever else comes back is
// no answer.
func (p *httpProver) Prove(ctx context.Context, proof auth.Proof) error {
	body, err := json.Marshal(map[string]string{
		"user_id": strconv.FormatInt(proof.UserID, 10), "coupon_id": strconv.FormatInt(proof.CouponID, 10),
		"address": proof.Address, "proof": proof.Text,
	})
	if err != nil {
		return fmt.Errorf("write the proof: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("order.verify_url: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return fmt.Errorf("%w: order.verify_url: %w", order.ErrUnavailable, err)
	}
	_ = resp.Body.Close()
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode == http.StatusForbidden:
		return auth.ErrProof
	}
	return fmt.Errorf("%w: order.verify_url said %s", order.ErrUnavailable, resp.Status)
}

// newPurchaseTokens returns the purchase tokens that order.purchase_token asks for, or nil.
func newPurchaseTokens(cfg config.Config, now func() time.Time) (*auth.PurchaseTokens, error) {
	if cfg.Order.PurchaseToken != "required" {
		return nil, nil //nolint:nilnil // nil is none
	}
	secrets := [][]byte{[]byte(cfg.Order.PurchaseTokenSecret.Reveal())}
	if cfg.Order.PurchaseTokenSecret == "" {
		secrets = [][]byte{[]byte(cfg.Auth.Secret.Reveal())}
		old, err := cfg.Auth.Verifiers()
		if err != nil {
			return nil, err
		}
		for _, one := range old {
			secrets = append(secrets, []byte(one.Secret.Reveal()))
		}
	}
	o := auth.PurchaseOptions{Secrets: secrets, TTL: cfg.Order.PurchaseTokenTTL, Lead: cfg.Order.PurchaseTokenLead, Now: now}
	return o.PurchaseTokens()
}
