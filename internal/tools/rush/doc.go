// Package rush is a load generator: many distinct buyers want the same coupon at the
// same moment, over real HTTP, and a report says what became of them.
//
// It knows the program only through its HTTP contract, shares no code with it
// and believes nothing that it can check. It does not prove that the server is
// right. It proves that the server is wrong when an answer given to a buyer
// does not fit the other answers, the orders read back, or the audit.
//
// One buyer's tap ends in exactly one column, however often it was sent:
//
//	tap ─▶ POST /coupons/{id}/orders ──┬─ 201 ──────────────▶ accepted ─▶ pay or cancel, maybe
//	        ▲   (Idempotency-Key)      ├─ 202 ─▶ poll Location ─┬─ order ▶ accepted
//	        │                          │        (30 s at most)  ├─ abandoned ▶ refused
//	        ├──────────── once ────────│────────────────────────├─ 404: lost with Redis
//	        │                          │                        └─ neither ▶ failed, a violation
//	        │                          ├─ sold_out, limit_reached, … ▶ refused, by code
//	        │   same key, Retry-After, ├─ overloaded, … ───────┐
//	        └── at most Tries times ◀──┴─ no answer, 5xx ──────┴─ tries used up ▶ refused / failed
//
// A tap without a key is never sent a second time: that would be another order.
//
// And a run, from left to right:
//
//	coupon, audit ─▶ tokens, connections ─▶ │ workload  │ ─▶ own record ─▶ read back ─▶ audit at rest
//	     before the clock                   │ the clock │       after the clock
//
// With a rate the workload is an open loop: tap i belongs at start + i/rate, and
// its latency counts from there, also when the generator or the server was late.
// Otherwise a late answer would delay the next question and hide its own cost.
package rush
