// Package auth signs and verifies the tokens of the API, without HTTP.
//
//	Tokens          bearer tokens: a user and a role
//	PurchaseTokens  a permit for one user to buy one unit in one sale
package auth
