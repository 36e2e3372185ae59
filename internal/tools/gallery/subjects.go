package gallery

// subject is a group of picks.
type subject struct {
	title Text
	picks []pick
}

// pick is a mutant that teaches, and the invariants that it breaks.
type pick struct{ name, breaks string }

// More says how to find the others, of so many shown and of how many there are.
var More = Text{
	"%d of %d: the others are found by words, as in seckill lab gallery fence",
	"共 %[2]d 个，以上 %[1]d 个；其余可按关键词查找，如 seckill lab gallery fence",
}

// subjects are what is shown first. Whatever is not here is found by its words.
var subjects = []subject{
	{Text{"The order of lock and transaction", "锁与事务的先后"}, []pick{
		{"order/unknown-releases-the-lock", "I10"},
		{"order/batch-unlocked-in-doubt", "I10"},
		{"testing/locktest/do-releases-before-the-work-returned", "I10"},
		{"testing/locktest/do-releases-an-unknown-outcome", "I10"},
		{"store/begin-without-its-level", ""},
		{"store/hot-row-first", ""},
		{"order/reconciled-without-the-lock", ""},
	}},
	{Text{"Whose lock it is", "锁归谁所有"}, []pick{
		{"testing/locktest/release-without-owner", "I10"},
		{"testing/locktest/renew-without-owner", "I10"},
		{"testing/locktest/acquire-overwrites", "I10"},
		{"testing/locktest/reentrant-by-key", "I10"},
		{"testing/locktest/renew-revives", ""},
		{"testing/locktest/loss-told-without-a-margin", ""},
		{"testing/locktest/loss-reckoned-from-the-grant", ""},
		{"testing/locktest/late-first-try-stays", ""},
		{"testing/locktest/acquire-not-idempotent", ""},
	}},
	{Text{"The fence behind the lock", "锁背后的 fencing token"}, []pick{
		{"order/no-fence", "I9"},
		{"store/group-fence-not-checked", "I9"},
		{"store/at-once-lowers-a-fence", "I9"},
		{"order/batch-of-one-fence", "I9"},
		{"testing/locktest/fence-stands-still", ""},
		{"testing/locktest/stamped-over-anothers", ""},
		{"testing/locktest/raise-lowers", ""},
		{"order/fence-not-raised", ""},
	}},
	{Text{"No more than the limit", "不超过每人限购"}, []pick{
		{"order/limit-not-counted", "I3"},
		{"order/slot-not-written", "I3"},
		{"stock/second-past-the-limit", "I3"},
		{"stock/second-open-hold-not-counted", "I3"},
		{"stock/second-confirmation-not-counted", "I3"},
	}},
	{Text{"The stock, to the last unit", "库存，直到最后一份"}, []pick{
		{"order/unit-not-taken", "I1"},
		{"store/at-once-sold-out-is-served", "I1"},
		{"store/group-sold-out-is-served", "I1"},
		{"stock/last-unit-twice", "I4"},
		{"order/early-give-back", "I4"},
		{"stock/expiring-holds", "I4"},
		{"stock/lent-again", "I4"},
		{"stock/late-loan", "I4"},
		{"order/unread-is-empty", "I6"},
		{"order/batch-never-borrows", "I6"},
		{"order/batch-keeps-refused-units", "I6"},
	}},
	{Text{"A commit without an answer", "没有应答的提交"}, []pick{
		{"order/outcome-not-asked", "I7"},
		{"order/known-without-a-void", "I7"},
		{"store/group-commit-error-is-success", "I7"},
		{"order/batch-lost-reply-is-success", "I7"},
		{"store/many-in-doubt-is-refused", "I7"},
		{"order/known-on-a-dead-context", ""},
		{"order/no-ticket", ""},
		{"store/commit-without-bound", ""},
	}},
	{Text{"One request, one order", "一个请求，一个订单"}, []pick{
		{"order/no-earlier-order", "I8"},
		{"order/reserved-again", "I8"},
		{"order/queued-twice", "I8"},
		{"order/keys-of-other-users", "I8"},
		{"order/keys-of-other-coupons", "I8"},
		{"stock/request-again-in-its-batch", "I8"},
		{"stock/not-entered-without-a-key", "I8"},
		{"order/order-not-of-the-hold", ""},
		{"stock/written-before-refused", ""},
	}},
	{Text{"The queue", "队列"}, []pick{
		{"order/acknowledged-before-the-commit", "I11"},
		{"order/refused-without-a-void", "I11"},
		{"order/buried-without-a-void", "I11"},
		{"order/queue-outlives-its-epoch", ""},
		{"order/queued-holds-reconciled", ""},
		{"order/busy-is-refused", ""},
		{"order/left-for-ever", ""},
		{"order/place-not-told-at-once", ""},
	}},
	{Text{"To settle: payment, cancellation, expiry", "结清：支付、取消与过期"}, []pick{
		{"order/cancelled-twice", "I9"},
		{"order/paid-too-late", "I9"},
		{"order/expired-whatever-it-is", "I9"},
		{"order/cancelled-unit-kept", "I1"},
		{"order/expired-unit-kept", "I1"},
		{"order/returned-again", "I4"},
		{"order/forgotten-before-returned", "I6"},
		{"order/reconciled-order-gives-back", "I4"},
		{"order/cleanup-dies-with-the-request", "I6"},
	}},
	{Text{"Many orders in one transaction", "多个订单，一个事务"}, []pick{
		{"store/group-takes-anothers-units", "I1"},
		{"store/group-takes-for-the-refused", "I1"},
		{"order/batch-answers-mixed-up", "I7"},
		{"stock/member-told-anothers-answer", ""},
		{"store/group-locks-in-any-order", ""},
		{"store/group-deadlock-fails-all", ""},
		{"order/batch-ignores-who-left", ""},
	}},
	{Text{"A Redis that has forgotten", "失忆的 Redis"}, []pick{
		{"stock/old-data-is-sound", "I4"},
		{"store/set-back-is-not-seen", "I4"},
		{"stock/evicted-is-sound", ""},
		{"coupon/resumed-after-it-was-open", "I4"},
		{"store/outbox-not-counted", ""},
		{"coupon/loading-mark-not-seen", ""},
		{"coupon/restored-by-each", ""},
		{"order/stale-epoch-not-retried", ""},
	}},
	{Text{"Waiting for a lock", "等待锁"}, []pick{
		{"testing/locktest/fair-lets-anybody-in", ""},
		{"testing/locktest/fair-dead-waiter-blocks", ""},
		{"testing/locktest/subscribed-after-the-check", ""},
		{"testing/locktest/release-wakes-nobody", ""},
		{"testing/locktest/fair-release-wakes-all", ""},
		{"testing/locktest/queue-loses-a-turn", ""},
	}},
	{Text{"The audit", "对账"}, []pick{
		{"audit/writes-not-noticed", ""},
		{"audit/sold-hold-counted", ""},
		{"audit/hidden-failure", ""},
		{"audit/restless-is-loaded", ""},
		{"audit/buyers-not-compared", "I3"},
		{"store/shared-id-not-seen", "I8"},
	}},
	{Text{"At the door", "入口"}, []pick{
		{"api/purchase-token-buys-twice", ""},
		{"api/auth/token-signature-not-checked", ""},
		{"api/buyers-take-every-place", ""},
		{"order/sold-out-asks-anyway", ""},
		{"order/overload-asks-the-database", ""},
		{"admission/queue-without-end", ""},
		{"platform/ratelimit/debt-not-taken", ""},
		{"order/window-not-asked", ""},
	}},
	{Text{"What the buyer is told", "买家看到的"}, []pick{
		{"api/page-new-key-each-time", "I8"},
		{"api/page-doubt-is-a-purchase", "I7"},
		{"order/confirmation-fails-the-order", "I7"},
		{"order/anothers-doubt-is-shown", ""},
		{"api/page-invites-without-a-unit", ""},
		{"api/page-offline-is-not-told", ""},
	}},
}
