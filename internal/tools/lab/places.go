package lab

import "example.com/seckill/internal/tools/lab/harness"

// place returns the place in the program that does right what an experiment does wrong.
func place(name string) *harness.Place {
	p, known := places[name]
	if !known {
		return nil
	}
	return &p
}

func at(file, code, en, zh string) harness.Place {
	return harness.Place{File: file, Code: code, Why: text(en, zh)}
}

// instead is at for an experiment whose lock the program does not use. The code is what the program has instead, and
// the texts continue "not in this program, because".
func instead(file, code, en, zh string) harness.Place {
	p := at(file, code, en, zh)
	p.Absent = true
	return p
}

const (
	locked   = "s.locked(ctx, held, func(ctx context.Context, locked attempts) {"
	fenceRow = `mysqlDialect:  " ON DUPLICATE KEY UPDATE fence = IF(VALUES(fence) < fence, fence + ~0, VALUES(fence))",`
)

// places are by the name of the experiment.
var places = map[string]harness.Place{
	"unlock-before-commit": at("internal/order/place.go", locked,
		"the whole transaction is inside the lock, which is released when its outcome is known", "整个事务都在锁内，结果已知之后才解锁"),
	"read-before-lock": at("internal/order/place.go", locked,
		"BEGIN comes inside the lock, and the transactions run at READ COMMITTED", "先加锁再 BEGIN，事务隔离级别为读已提交"),
	"setnx-then-expire": at("internal/lock/redislock/acquire.lua", "redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. fence, 'PX', ARGV[2])",
		"the lock and its end are one command", "加锁与过期时间是同一条命令"),
	"delete-anothers-lock": at("internal/lock/redislock/release.lua", "if string.sub(value, 1, #ARGV[1] + 1) ~= ARGV[1] .. ' ' then",
		"a release compares the token first, in the same script", "释放之前先比较令牌，且在同一个脚本里"),
	"defer-unlock": at("internal/lock/do.go", "defer lease.finish(ctx)",
		"what is released is the lease that was acquired, and it is deferred after that", "释放的是已拿到的租约，拿到之后才 defer"),
	"longer-than-lease": at("internal/lock/do.go", "err = work(lease.Context(), lease)",
		"the lease is renewed meanwhile, and the work's context ends with it", "期间自动续期；租约一丢，工作的 context 随之结束"),
	"renew-anothers-lock": at("internal/lock/redislock/renew.lua", "if string.sub(value, 1, #ARGV[1] + 1) ~= ARGV[1] .. ' ' then",
		"a renewal compares the token first, in the same script", "续期之前先比较令牌，且在同一个脚本里"),
	"stale-holder": at("internal/store/statements.go", fenceRow,
		"the first statement of each transaction: a smaller fence cannot pass", "每个事务的第一条语句：较小的 fencing token 过不去"),
	"loss-told-late": at("internal/lock/renewer.go", "return !time.Now().Before(h.loseAt)",
		"a holder takes its lease for lost by its own clock, a margin before its end", "持有者按自己的时钟、提前一段余量认定租约已丢失"),
	"lost-reply": at("internal/platform/redisconn/redisconn.go", "MaxRetries: never,",
		"the client asks nothing twice; a repetition is recognised by its request id", "客户端从不自动重试，重复的请求按请求号识别"),
	"ambiguous-commit": at("internal/order/outcome.go", "switch voided := s.db.Void(ctx, *o); {",
		"a void row with the same request id decides what became of the commit", "以相同请求号插入一行作废订单，由数据库裁决提交的结果"),
	"after-deadlock": at("internal/store/errors.go", "1213,             // deadlock",
		"the whole transaction is rolled back and run again from its begin", "整个事务回滚，从头再来"),
	"after-lock-wait-timeout": at("internal/store/errors.go", "1205,             // lock wait timeout",
		"the whole transaction is rolled back and run again from its begin", "整个事务回滚，从头再来"),
	"for-update-missing-row": at("internal/store/statements.go", fenceRow,
		"no locking read of a row that may be missing: READ COMMITTED has no gap locks, and the row is inserted if it is not there",
		"不对可能不存在的行加锁读：读已提交没有间隙锁，没有行就插入"),
	"foreign-key-hot-row": at("sql/mysql/00018_schema.sql", "There is no foreign key to coupons.",
		"an order does not touch the coupon's row before its turn", "插入订单不会提前碰优惠券那一行"),
	"hot-row-last": at("internal/store/statements.go",
		"err := t.execBatch(ctx, slices.Concat(fences, t.insertOrders(group), t.takeStock(lots, &lowered))...)",
		"the coupon's row comes last, and is held over the commit alone", "优惠券那一行放在最后，只锁到提交"),
	"same-pool": at("internal/app/wire.go", "return mysqllock.NewLeaseRow(pool), pool.Close, nil",
		"locks that live in the database have a pool of their own", "放在数据库里的锁有自己的连接池"),
	"get-lock-wrong-connection": instead("internal/lock/mysqllock/leaserow.go", "type LeaseRow struct{ db *sql.DB }",
		"its lock in the database is a row with an end, which any connection may change and which holds none",
		"它在数据库里的锁是一行带到期时间的记录，任何连接都能操作，也不占用连接"),
	"failover": instead("internal/store/statements.go", fenceRow,
		"a failover may lose a lock in any case, and the fence then keeps the old holder's writes from the data",
		"主从切换总可能弄丢锁，届时由 fencing token 把旧持有者的写挡在数据之外"),
	"redlock-clock": at("internal/lock/redlock/acquire.go", "fence, err := b.o.Fencer.NextFence(ctx, key)",
		"the fence comes from one counter, and not from a majority", "fencing token 来自唯一的计数器，而不是多数派"),
	"lock-table": at("internal/lock/mysqllock/leaserow.go", `over   = "expires_at <= UTC_TIMESTAMP(6)"`,
		"a lease in the database ends by the database's clock, whether its holder lives or not", "数据库里的租约按数据库的时钟到期，与持有者死活无关"),
	"optimistic-watch": at("internal/stock/lua/reserve.lua", "local left = counter(stock)",
		"one script reads, decides and writes: there is nothing to try again", "读取、判断、写入在同一个脚本里，不需要重试"),
	"compare-and-set-aba": at("internal/store/statements.go", fenceRow,
		"a fence grows and never comes back, so an old one is seen as old", "fencing token 只增不减，旧值一眼可辨"),
	"version-beside-lock": at("internal/store/statements.go", fenceRow,
		"the fence is checked by each transaction, whatever lock it holds", "每个事务都检查 fencing token，不管它持有哪把锁"),
	"herd": at("internal/lock/acquire.go", "func (q *queue) enter(ctx context.Context, p *place, closing <-chan struct{}) (turn, error) {",
		"callers of one process queue inside it, and the first alone asks the server", "同一进程的等待者在本地排队，只由队首询问服务端"),
	"hot-key": at("internal/coupon/coupon.go", "func Home(userID int64, shards int) int {",
		"users are spread over shards by a hash, each with a hash tag of its own", "用户按哈希分散到各分片，每个分片有自己的 hash tag"),
	"no-siblings": at("internal/stock/borrow.go",
		"func (s *Stock) borrow(ctx context.Context, c order.ReserveRequest, home int) (order.Hold, error) {",
		"an empty home borrows, and sold out is said when every shard was seen empty", "主分片空了就向兄弟分片借；看过所有分片都空才说售罄"),
	"defence-in-depth": at("sql/mysql/00018_schema.sql", "UNIQUE KEY orders_slot (coupon_id, user_id, slot),",
		"the last line against a second order, when lock and fence have failed", "锁与 fencing token 都失效时，防止重复下单的最后一道防线"),
}
