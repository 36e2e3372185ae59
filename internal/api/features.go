package api

import "context"

// features is what this server allows a visitor. The page asks for it, and shows nothing that would
// be refused.
type features struct {
	DemoLogin bool `json:"demo_login"` // POST /sessions
	DemoAdmin bool `json:"demo_admin"` // POST /sessions with the role admin
	// Admin: the administrator's routes are here, and not at the second listener alone.
	Admin bool `json:"admin"`
	Rush  bool `json:"rush"`
	Lab   bool `json:"lab"` // an administrator may play experiments; their recordings are for all
	// PurchaseToken: buying needs a token of POST /coupons/{id}/purchase-tokens.
	PurchaseToken bool `json:"purchase_token"`
	// Traces: GET /orders/{id}/trace shows the orders that asked for a trace.
	Traces bool `json:"traces"`
	// Design makes the orders instead of the order service. It is left out otherwise.
	Design *Design `json:"design,omitempty"`
}

func (s *Server) features(context.Context, nothing) (features, error) {
	here := !s.o.AdminApart
	return features{
		DemoLogin: s.o.DemoLogin, DemoAdmin: here && s.o.DemoLogin && s.o.DemoAdmin, Admin: here,
		Rush: here && s.deps.Rush != nil, Lab: here && s.deps.Lab != nil && s.deps.Lab.Plays(),
		PurchaseToken: s.o.PurchaseTokens != nil, Traces: s.deps.Traces != nil, Design: s.deps.Design,
	}, nil
}
