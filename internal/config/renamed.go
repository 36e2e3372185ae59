package config

// renamed maps the keys of earlier versions to their present names. An old name is
// refused with the new one and not accepted as an alias, so that no file depends on a
// name that the documentation no longer has.
var renamed = map[string]string{
	"stock.sold_out_for": "stock.refusal_ttl",
	"stock.sold_out_ttl": "stock.refusal_ttl",
	"coupon.refresh":     "coupon.cache_refresh",
	"order.commit":       "order.batch_size",
	"order.queue_length": "order.queue_capacity",
	"order.queue_wait":   "order.queue_max_age",
	"order.pay_within":   "order.payment_timeout",
	"order.settle_after": "order.reconcile_after",
	"order.expire_every": "order.background_interval",
	"admission.orders":   "admission.max_concurrent",
	"admission.queue":    "admission.max_waiting",
	"admission.wait":     "admission.max_wait",
}

// removed maps the keys of earlier versions that have no successor to the reason and to what you do instead.
var removed = map[string]string{
	"stock.rows": "a sale's units always come from the coupon's row: remove the key; " +
		"if orders wait for that row, raise order.batch_size",
}
