package api

import (
	"context"
	"net/http"
	"time"

	"example.com/seckill/internal/api/auth"
)

// tokenRequest asks for a purchase token.
type tokenRequest struct {
	proof auth.Proof
	text  *string
}

func (r *tokenRequest) read(in *input) {
	if in.c.Request.ContentLength != 0 {
		in.body(fields{"proof": asText(&r.text)})
	}
	r.proof = auth.Proof{CouponID: in.id(), UserID: in.who.UserID, Address: in.c.ClientIP()}
	if r.text != nil {
		r.proof.Text = *r.text
	}
}

// purchaseToken is a purchase token as the contract shows it.
type purchaseToken struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (purchaseToken) writeHeader(http.Header) int { return http.StatusCreated }

func (s *Server) issuePurchaseToken(ctx context.Context, r tokenRequest) (purchaseToken, error) {
	if s.o.PurchaseTokens == nil {
		return purchaseToken{}, errNoRoute
	}
	c, err := s.deps.Coupons.Get(ctx, r.proof.CouponID)
	if err != nil {
		return purchaseToken{}, err
	}
	token, expires, err := s.o.PurchaseTokens.Issue(c, r.proof.UserID)
	if err == nil && s.deps.Prover != nil {
		err = s.deps.Prover.Prove(ctx, r.proof)
	}
	if err != nil {
		return purchaseToken{}, err
	}
	return purchaseToken{token, wireTime(expires)}, nil
}

// permit makes r what its purchase token permits, where one is required.
func (s *Server) permit(r *placeRequest) error {
	required := s.o.PurchaseTokens != nil
	switch {
	case !required && len(r.tokens) == 0:
		return nil
	case !required:
		return malformed("no Purchase-Token is known here: leave it out")
	case len(r.tokens) == 0:
		return errNoPurchaseToken
	case len(r.tokens) > 1:
		return malformed("Purchase-Token is there twice")
	case r.Key != "":
		return malformed("a Purchase-Token names the request: leave the Idempotency-Key out")
	}
	return s.o.PurchaseTokens.Permit(&r.Request, r.tokens[0])
}
