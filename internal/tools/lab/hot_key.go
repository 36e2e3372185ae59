package lab

import (
	"context"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/stock"
	"example.com/seckill/internal/tools/lab/harness"
)

// hotKey shows that a cluster of any size is as fast as one node if every purchase goes to one key.
func hotKey() Experiment {
	const buys, batch = 64, 16

	play := func(shards int) func(run *Run) {
		return func(run *Run) {
			sale := newSale(run, 2*buys, shards)
			slots := &slotCounter{}
			client := run.Client(run.RedisAddr())
			client.AddHook(slots)
			counted := sale
			counted.Stock = stock.New(client, stock.Options{RefusalTTL: long})
			run.AtMost(text("commands for the busiest slot, of 128 for 64 buys", "64 次购买的 128 条命令中，最忙的槽承担的条数"), 2*buys/4, slots.busiest)
			run.Actor("buyers", func(a *Actor) {
				for first := 0; first < buys; first += batch {
					what := "RESERVE and CONFIRM for users " + id(int64(first+1)) + " to " + id(int64(first+batch))
					a.Must(harness.Redis, harness.Write, what, func(s *Step) error {
						for user := first + 1; user <= first+batch; user++ {
							if err := counted.buy(s.Ctx, int64(user)); err != nil {
								return err
							}
						}
						s.Note("busiest slot: %d, slots: %d", slots.busiest(), slots.used())
						return nil
					})
				}
			})
			run.Schedule()
		}
	}
	return Experiment{
		Name:  "hot-key",
		Title: text("One hot key against sharded stock", "一个热点键与分片库存"),
		Lesson: text(
			"A key lives in one slot, and a slot on one node, which runs its commands one after the other. With the stock in one key every buy "+
				"of the sale queues there, however many nodes the cluster has. Split over eight shards with hash tags of their own, and users "+
				"spread by a hash, the busiest slot serves a fraction.",
			"一个键只在一个槽里，一个槽只在一个节点上，而节点逐条执行命令。库存放在一个键里，整场活动的购买都在那里排队，集群再大也没用。"+
				"拆成八个带各自 hash tag 的分片，用户按哈希分散，最忙的槽只承担一小部分。"),
		Wild: text(
			"DECR stock:42 on a cluster of thirty nodes, of which one is at 100 % and the others idle.", "三十个节点的集群上 DECR stock:42：一个节点 100%，其余空闲。"),
		Needs: []harness.Server{harness.Redis},
		Cases: []Case{
			wrong(text("one key", "一个键"), play(1)),
			right(text("eight shards", "八个分片"), play(8)),
		},
	}
}

// slotCounter counts the scripts that a client runs, by the hash tag of their keys.
type slotCounter struct {
	mu    sync.Mutex
	byTag map[string]int64
}

// DialHook implements redis.Hook and changes nothing.
func (*slotCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements redis.Hook and changes nothing: the scripts are sent one by one.
func (*slotCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements redis.Hook and counts a script.
func (c *slotCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if args := cmd.Args(); err == nil && len(args) > 3 && strings.HasPrefix(cmd.Name(), "eval") {
			key, _ := args[3].(string)
			tag, _, _ := strings.Cut(key, "}")
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.byTag == nil {
				c.byTag = map[string]int64{}
			}
			c.byTag[tag]++
		}
		return err
	}
}

func (c *slotCounter) busiest() (most int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.byTag {
		most = max(most, n)
	}
	return most
}

func (c *slotCounter) used() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byTag)
}
