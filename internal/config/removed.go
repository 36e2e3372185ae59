package config

// removed maps each key that the program no longer has, and that a configuration may still have, to what the operator
// does instead.
var removed = map[string]string{
	"order.commit": "set order.batch_size instead, to 1 for single and to the default for group and batch",
	"stock.rows": "a sale's units always come from the coupon's row: remove the key; " +
		"if orders wait for that row, raise order.batch_size",
}
