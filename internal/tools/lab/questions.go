package lab

import "example.com/seckill/internal/tools/lab/harness"

// question returns what a learner is asked before an experiment is told. The answer is the number that its first
// wrong case counts.
func question(name string) harness.Text { return questions[name] }

// questions are by the name of the experiment.
var questions = map[string]harness.Text{
	"unlock-before-commit": text("The user may buy one. How many orders will the two taps make?",
		"该用户限购一单，两次点击会产生几单？"),
	"read-before-lock": text(
		"Each transaction has read the stock before it has the lock. How many orders will the user have, who may have one?",
		"两个事务都在加锁之前读过库存，而该用户限购一单，最后会有几单？"),
	"setnx-then-expire": text("Worker 1 dies between the two commands. How many locks will never end?",
		"进程 1 在两条命令之间崩溃，会留下几把永不过期的锁？"),
	"delete-anothers-lock": text(
		"Worker 1 wakes up after its lease and deletes the lock. How many workers will be inside at once?",
		"进程 1 在租约到期之后醒来并删除锁，同一时刻最多有几个进程在锁内？"),
	"defer-unlock": text(
		"Worker 2 does not get the lock, and its deferred unlock runs all the same. How many workers will be inside at once?",
		"进程 2 没有拿到锁，defer 里的解锁照样执行，同一时刻最多有几个进程在锁内？"),
	"longer-than-lease": text(
		"The work takes longer than the lease, and the lease is not renewed. How many workers will be inside at once?",
		"业务执行时间超过租约，又没有续期，同一时刻最多有几个进程在锁内？"),
	"renew-anothers-lock": text(
		"Worker 2 dies with the lock, and worker 1 renews it. How many locks of a dead worker will stay?",
		"进程 2 持锁崩溃，进程 1 去续期，已死进程的锁会留下几把？"),
	"stale-holder": text(
		"Worker 2 has set the price, and then worker 1 wakes up and writes. How many decisions of worker 2 will be overwritten?",
		"进程 2 已定价，随后进程 1 醒来并写入，进程 2 的决定有几个被覆盖？"),
	"loss-told-late": text(
		"The network falls silent while worker 1 renews its lease. How many workers will be inside at once?",
		"进程 1 续租约时网络失去响应，同一时刻最多有几个进程在锁内？"),
	"lost-reply": text("Every reply to the DECR is lost. How many units will the client take for one purchase?",
		"DECR 的应答全部丢失，一次购买会扣掉几份库存？"),
	"ambiguous-commit": text(
		"The answer of the COMMIT is lost, and the buyer runs the transaction again. How many orders will one request make?",
		"COMMIT 的应答丢失，买家把事务原样再执行一次，同一请求会产生几单？"),
	"after-deadlock": text(
		"The buyer logs the deadlock error and goes on. How many payments without an order will be committed?",
		"买家记下死锁报错后继续执行，会提交几笔没有订单的付款？"),
	"after-lock-wait-timeout": text(
		"The UPDATE of the stock times out, and the buyer commits. How many orders will have no unit?",
		"扣库存的 UPDATE 等锁超时，买家照样提交，会有几单没有扣库存？"),
	"for-update-missing-row": text(
		"Two users lock rows that do not exist, and then insert them. How many of the two orders will die of a deadlock?",
		"两个用户先对不存在的行加锁，再插入，两单中有几单死于死锁？"),
	"foreign-key-hot-row": text(
		"Each order points to the coupon's row, which its transaction updates next. How many of the two orders will die of a deadlock?",
		"订单的外键指向优惠券那一行，事务接着更新该行，两单中有几单死于死锁？"),
	"hot-row-last": text("User 42 updates the coupon's row first. For how many of his statements will user 43 wait?",
		"用户 42 先更新优惠券那一行，用户 43 要等他的几条语句？"),
	"same-pool": text("Each buyer needs two connections, and the pool has two. How many buyers will wait for ever?",
		"每个买家需要两个连接，而池里一共两个，有几个买家会永远等下去？"),
	"get-lock-wrong-connection": text(
		"Both taps call GET_LOCK through the pool, on whichever connection is free. How many taps will be inside at once?",
		"两次点击都通过连接池调用 GET_LOCK，用哪个连接不固定，同一时刻最多有几次点击在锁内？"),
	"failover": text("The master dies before its replica has the lock. How many taps will be inside at once?",
		"锁还没有复制到副本，主节点就崩溃了，同一时刻最多有几次点击在锁内？"),
	"redlock-clock": text(
		"One node was away, and another one's clock jumps. How many decisions of worker 2 will worker 1 overwrite?",
		"一个节点曾离线，另一个节点的时钟向前跳，进程 2 的决定有几个被进程 1 覆盖？"),
	"lock-table": text("The holder dies, and its row stays in the table. How many workers will be shut out?",
		"持有者崩溃，它的那一行留在锁表里，有几个进程会被挡在门外？"),
	"optimistic-watch": text("Two users buy one unit each. How many sold units will be missing in the stock's count?",
		"两个用户各买一份，库存会漏记几份？"),
	"compare-and-set-aba": text(
		"Meanwhile the seat is taken, and free again at another price. How many seats will be sold at the old price?",
		"期间座位被占用，又以新价格释放，会有几个座位按旧价格卖出？"),
	"version-beside-lock": text(
		"One of ten units is sold while the editor saves the title. How many units will the stock show?",
		"编辑保存标题期间，十份卖出了一份，库存最后显示几份？"),
	"herd": text(
		"Five workers want one lock, and each release wakes all of them. How many requests for the lock will be in vain?",
		"五个进程争一把锁，每次释放唤醒所有人，会有几次请求落空？"),
	"hot-key": text("64 purchases send 128 commands to one key. How many of them will the busiest slot get?",
		"64 次购买向同一个键发出 128 条命令，最忙的槽承担多少条？"),
	"no-siblings": text(
		"The buyers' home shard is empty, and they learn that the coupon is sold out. How many units will be unsold?",
		"买家的主分片已空，得到的答复是优惠券售罄，此时还有几份没有卖出？"),
	"defence-in-depth": text(
		"Twenty users tap four times each for fifteen units, and nothing guards against a second order. How many orders will be above the limit?",
		"二十个用户各点四次，抢十五份，没有任何一道防重复下单的防线，会有几单超出限购？"),
}
