// Package api serves the program over HTTP: the routes and the page. Its package auth has the tokens.
//
// It decides nothing about a sale. A handler is a plain function without HTTP, and one adapter
// stands in front of all of them; the cheapest refusals come first:
//
//	host? ─▶ too often from this address? ─▶ route, or file of the page
//	route ─▶ too many in flight, or too many buyers? ─▶ whose token? ─▶ which role? ─▶ too often?
//	      ─▶ READ    path, query, headers, body, all strict
//	      ─▶ HANDLE  func(ctx, Request) (Response, error), within the budget
//	      ─▶ RENDER  the response, or the problem that the error is in the table
//
// An error that is not in the table (problems.go) reaches the client as a 500 with nothing but an
// id, which the log has too.
package api
