package config

import "strings"

// removed maps each key that the program no longer has, and that a configuration may still have, to advice for the
// operator. The keys that have another name are in renamed.
var removed = map[string]string{
	"order.commit": "set order.batch_size instead, to 1 for single and to the default for group and batch",
	"otel.sample":  "set otel.sample_ratio instead, to 0.01 for one of 100 requests",
	"stock.rows": "a sale's units always come from the coupon's row: remove the key; " +
		"if orders wait for that row, raise order.batch_size",
}

// renamed maps the old name of a key to its name. The values keep their meaning.
var renamed = map[string]string{
	"admin.api":          "admin.serve_api",
	"admission.orders":   "admission.max_concurrent",
	"admission.queue":    "admission.max_waiting",
	"admission.wait":     "admission.max_wait",
	"auth.demo_open":     "auth.demo_public",
	"coupon.refresh":     "coupon.cache_refresh",
	"lock.lease":         "lock.ttl",
	"lock.wait":          "lock.wait_timeout",
	"order.expire_every": "order.background_interval",
	"order.pay_within":   "order.payment_timeout",
	"order.proof_url":    "order.verify_url",
	"order.queue_length": "order.queue_capacity",
	"order.queue_wait":   "order.queue_max_age",
	"order.settle_after": "order.reconcile_after",
	"order.token":        "order.purchase_token",
	"order.token_lead":   "order.purchase_token_lead",
	"order.token_secret": "order.purchase_token_secret",
	"order.token_ttl":    "order.purchase_token_ttl",
	"otel.keep":          "otel.keep_traces",
	"rate.burst":         "rate_limit.burst",
	"rate.per_address":   "rate_limit.per_address",
	"rate.per_instance":  "rate_limit.per_instance",
	"rate.per_user":      "rate_limit.per_user",
	"rate.sessions":      "rate_limit.logins",
	"stock.sold_out_for": "stock.refusal_ttl",
	"stock.sold_out_ttl": "stock.refusal_ttl",
}

// oldSection is a section of the file whose keys are in another section.
const oldSection = "rate"

// adviceFor returns the advice for a key of the file that was removed or renamed. It is false for other keys.
func adviceFor(path string) (advice string, is bool) {
	if current, ok := renamed[path]; ok {
		return "set " + current + " instead", true
	}
	if path == oldSection {
		return "set rate_limit instead", true
	}
	advice, is = removed[path]
	return advice, is
}

// adviceForVariable returns the advice for a variable whose key was removed or renamed, and false for other variables.
// The variable may name the file of a secret.
func adviceForVariable(name string) (advice string, is bool) {
	for old, current := range renamed {
		if rest, ok := strings.CutPrefix(name, variable(old)); ok && (rest == "" || rest == fileSuffix) {
			return "set " + variable(current) + rest + " instead", true
		}
	}
	for old, advice := range removed {
		if variable(old) == name {
			return advice, true
		}
	}
	return "", false
}

// RenamedVariables maps the old variable of each renamed key to its variable.
func RenamedVariables() map[string]string {
	all := make(map[string]string, len(renamed))
	for old, current := range renamed {
		all[variable(old)] = variable(current)
	}
	return all
}
