package lab

import (
	"strings"

	"example.com/seckill/internal/tools/lab/harness"
)

// defence is one line of defence of the order path that a decorator can remove.
type defence int

const (
	account defence = iota // the shard's script counts the user's units
	locking                // the user's lock
	fencing                // the fence row
	index                  // the unique index on (coupon, user, slot)
	counter                // the shards' counters
	update                 // the conditional update of the coupon's row
	lines                  // the number of lines
)

var lineNames = [lines]harness.Text{
	account: text("the shards' account", "分片记账"), locking: text("the lock", "用户锁"), fencing: text("the fence", "fencing token"),
	index: text("the unique index", "唯一索引"), counter: text("the shards' counters", "分片计数"), update: text("the conditional update", "条件更新"),
}

// without names the lines that are off.
func without(off ...defence) harness.Text {
	var en, zh []string
	for _, l := range off {
		en, zh = append(en, lineNames[l].EN), append(zh, lineNames[l].ZH)
	}
	return text("without "+strings.Join(en, " and "), "没有："+strings.Join(zh, "、"))
}

// only names the one line that is left against a second order of a user.
func only(l defence, trouble harness.Text) harness.Text {
	return text("only "+lineNames[l].EN+" is left, "+trouble.EN, "只剩："+lineNames[l].ZH+"，"+trouble.ZH)
}

// but returns the lines of defence against a second order of a user, except one.
func but(left defence) (off []defence) {
	for _, l := range []defence{account, locking, fencing, index} {
		if l != left {
			off = append(off, l)
		}
	}
	return off
}

// defenceInDepth removes lines of defence from the real order path, one and two at a time.
func defenceInDepth() Experiment {
	calm, troubled := text("leases hold", "租约正常"), text("every lease is lost", "租约全部丢失")
	cases := []Case{
		wrong(text("without any line against a second order", "没有任何一道防重复下单的防线"), sellTwice(false, but(lines)...)),
		wrong(without(counter, update), sell(false, counter, update)),
		wrong(only(locking, troubled), sellTwice(true, but(locking)...)),
		right(only(locking, calm), sell(false, but(locking)...)),
		right(only(account, troubled), sell(true, but(account)...)),
		right(only(fencing, troubled), sell(true, but(fencing)...)),
		right(only(index, troubled), sell(true, but(index)...)),
		right(text("with all of them, and every lease is lost", "防线齐全，租约全部丢失"), sell(true)),
	}
	for one := range lines {
		cases = append(cases, right(without(one), sell(true, one)))
	}
	for one := range lines {
		for other := one + 1; other < lines; other++ {
			if one != counter { // the two lines against overselling are above
				cases = append(cases, right(without(one, other), sell(true, one, other)))
			}
		}
	}
	return Experiment{
		Name:  "defence-in-depth",
		Title: text("Defence in depth: the order path with its lines taken away", "纵深防御：逐道拆除下单路径的防线"),
		Lesson: text(
			"The real order path under a crowd: twenty users tap four times at once for fifteen units, one each. Decorators take its lines of "+
				"defence away. Against a second order of a user there are four, and each is enough alone, except the lock when leases are lost: "+
				"a lock "+
				"orders work, and does not protect data. Against overselling there are two: the shards' counters and the conditional update. Any two "+
				"may fail together and nothing is sold twice, unless they are those two.",
			"真实的下单路径加一群人：二十个用户同时各点四次，抢十五份，每人限一份。装饰器逐道拆除防线。防重复下单有四道，任何一道单独都够，"+
				"唯独租约丢失时的锁不够：锁用来安排先后，不能保护数据。防超卖有两道：分片计数与条件更新。任意两道同时失效都不会多卖，除非正好是这两道。"),
		Wild:  text("A sale that rests on its lock alone, until the first failover.", "只靠一把锁的秒杀，直到第一次主从切换。"),
		Needs: []harness.Server{harness.RealRedis, harness.OwnRedis, harness.Database},
		Cases: cases,
	}
}
