// Package api is the program's HTTP face: the routes, the tokens, the page.
//
// It decides nothing about a sale. A handler is a plain function that knows no
// HTTP, and one adapter stands before all of them; whatever can refuse a request
// more cheaply comes first:
//
//	route ─▶ too many in flight, or of them buyers? ─▶ who are you? ─▶ may you? ─▶ too often?
//	      ─▶ READ    path, query, headers, body, all strict
//	      ─▶ HANDLE  func(ctx, Request) (Response, error), within the budget
//	      ─▶ RENDER  the response, or the problem that the error is in the table
//
// An error that is not in the table (problems.go) reaches the client as a 500
// that tells nothing but an id, which the log has too.
package api
