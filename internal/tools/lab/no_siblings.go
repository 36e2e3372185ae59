package lab

import (
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/tools/lab/harness"
)

// noSiblings shows that an empty shard is not a sold-out sale.
func noSiblings() Experiment {
	const units, shards, buyers = 8, 4, 5

	unsold := func(run *Run, left func() int64, refused *atomic.Int64) {
		run.AtMost(text("units unsold while a buyer was told that it is sold out", "有人被告知售罄时仍未卖出的份数"), 0, func() int64 {
			if refused.Load() == 0 {
				return 0
			}
			return left()
		})
	}
	// homeOnly asks the user's home shard and takes its answer for the whole sale.
	homeOnly := func(run *Run) {
		var refused atomic.Int64
		sale := newSale(run, units, shards)
		counter := "seckill:{" + id(sale.coupon) + ":0}:stock"
		unsold(run, sale.left, &refused)
		run.Actor("buyers", func(a *Actor) {
			for _, user := range neighbours(buyers, shards) {
				a.Redis(harness.Write, "shard 0: IF stock > 0 THEN DECR, for user "+id(user), func(s *Step, c *redis.Client) error {
					left, err := takeOne.Run(s.Ctx, c, []string{counter}).Int64()
					if s.Note("%d left there", left); left < 0 {
						s.Note("sold out, says the shard")
						refused.Add(1)
					}
					return err
				})
			}
		})
		run.Schedule()
	}
	borrowing := func(run *Run) {
		var refused atomic.Int64
		sale := newSale(run, units, shards)
		unsold(run, sale.left, &refused)
		run.Actor("buyers", func(a *Actor) {
			for _, user := range neighbours(buyers, shards) {
				if sale.buys(a, user) != nil {
					refused.Add(1)
				}
			}
		})
		run.Schedule()
	}
	return Experiment{
		Name:  "no-siblings",
		Title: text("A home shard without siblings", "只看主分片，不问兄弟分片"),
		Lesson: text(
			"Eight units over four shards; five buyers have the same home, which has two. If its word is taken for the sale's, three are sent "+
				"home while six units are left: undersold. The home must borrow from a sibling, and sold out may be said only after every shard "+
				"was seen empty.",
			"八份分在四个分片，五个买家的主分片相同，而它只有两份。若以它的话为准，三个人被打发走，还剩六份没卖：这叫少卖。"+
				"主分片空了要向兄弟分片借，只有看过所有分片都空了才能说售罄。"),
		Wild:  text("Every \"split the stock into buckets\" article that ends before the buckets run dry.", "所有“把库存拆成多个桶”的文章，都在桶空之前就结束了。"),
		Needs: []harness.Server{harness.Redis},
		Cases: []Case{
			wrong(text("the home shard decides", "主分片说了算"), homeOnly),
			right(text("siblings lend", "兄弟分片出借"), borrowing),
		},
	}
}

var takeOne = redis.NewScript(`if tonumber(redis.call('GET', KEYS[1])) > 0 then return redis.call('DECR', KEYS[1]) end return -1`)

// neighbours returns users whose home shard is the first.
func neighbours(n, shards int) (users []int64) {
	for user := int64(1); len(users) < n; user++ {
		if coupon.Home(user, shards) == 0 {
			users = append(users, user)
		}
	}
	return users
}
