package harness

import (
	"regexp"
	"strings"
	"sync"
)

// phrases are the words of a timeline, of actors, steps and answers. A {} stands for any text, in
// the same place in both languages. A text that is not here is the same in every language: a
// command, a statement, or what a server returned.
var phrases = []Text{
	NewText("first tap", "第一次点击"),
	NewText("second tap", "第二次点击"),
	NewText("worker {}", "进程 {}"),
	NewText("user {}", "用户 {}"),
	NewText("buyer", "买家"),
	NewText("buyers", "买家们"),
	NewText("slow buyer", "慢买家"),
	NewText("crowd", "人群"),
	NewText("others", "其他人"),
	NewText("editor", "编辑"),
	NewText("batch job", "批处理"),
	NewText("network", "网络"),
	NewText("world", "外界"),

	NewText("goes in", "进入"),
	NewText("comes out", "离开"),
	NewText("dies", "崩溃"),
	NewText("sleeps a little", "稍睡片刻"),
	NewText("stalls until the lease of {} has run out", "停顿，直到 {} 的租约到期"),
	NewText("works for longer than the lease", "工作时间超过租约"),
	NewText("works until the lease's context ends", "工作到租约的 context 结束"),
	NewText("waits for a message", "等待消息"),
	NewText("waits for twice a lease", "等待两倍租约的时间"),
	NewText("waits for {}", "等待 {}"),
	NewText("a connection for the lock", "为锁取一个连接"),
	NewText("a connection for the transaction", "为事务取一个连接"),
	NewText("the network falls silent", "网络失去响应"),
	NewText("the network is back", "网络恢复"),
	NewText("the master dies", "主节点崩溃"),
	NewText("the replica lags", "副本落后"),
	NewText("the replica is promoted", "副本升为主节点"),
	NewText("node {} goes away", "节点 {} 离线"),
	NewText("node {} comes back, empty", "节点 {} 恢复，数据已空"),
	NewText("node {}'s clock jumps ahead: its lease is over", "节点 {} 的时钟向前跳：租约在那里结束"),
	NewText("{} users tap {} times for {} units", "{} 个用户各点 {} 次，抢 {} 份"),
	NewText("lease row {} for {} ms", "租约行 {}，{} 毫秒"),
	NewText("GET lock, to renew it", "GET lock，准备续期"),
	NewText("LOCK {} for {} ms", "LOCK {}，{} 毫秒"),
	NewText("REDLOCK {} on {} nodes", "REDLOCK {}，{} 个节点"),
	NewText("RESERVE and CONFIRM for users {} to {}", "RESERVE 与 CONFIRM，用户 {} 至 {}"),
	NewText("RESERVE for user {}", "RESERVE，用户 {}"),
	NewText("RESERVE request {} (a script, by request id)", "RESERVE 请求 {}（脚本，按请求号）"),
	NewText("shard {}: IF stock > 0 THEN DECR, for user {}", "分片 {}：IF stock > 0 THEN DECR，用户 {}"),

	NewText("waits …", "等待 …"),
	NewText("gives up", "放弃"),
	NewText("refused", "被拒"),
	NewText("ours", "拿到了"),
	NewText("ours, fence {}", "拿到了，fencing token {}"),
	NewText("fence {}", "fencing token {}"),
	NewText("a majority; fence {}", "多数派；fencing token {}"),
	NewText("another's", "别人的"),
	NewText("→ {}: not ours", "→ {}：不是自己的"),
	NewText("not ours: nothing freed", "不是自己的：什么也没释放"),
	NewText("free", "已释放"),
	NewText("it is free", "已空闲"),
	NewText("still there after {}", "{} 后仍在"),
	NewText("the lease of {} has run out meanwhile", "{} 的租约已在期间到期"),
	NewText("deleted", "已删除"),
	NewText("nothing deleted", "什么也没删"),
	NewText("renewed: true", "续期成功"),
	NewText("renewed: false", "续期失败"),
	NewText("lost; another gets the key in {}", "已失去；别人拿到此键还要 {}"),
	NewText("nil: somebody wrote in between, again", "nil：期间有人写过，重来"),
	NewText("no row", "没有行"),
	NewText("{} row", "{} 行"),
	NewText("{} rows", "{} 行"),
	NewText("{} orders", "{} 单"),
	NewText("sold", "已售出"),
	NewText("{} left there", "那里还剩 {}"),
	NewText("sold out, says the shard", "分片说已售罄"),
	NewText("busiest slot: {}, slots: {}", "最忙的槽：{}，槽数：{}"),
	NewText("{} answers lost, and the client gave up", "{} 个应答丢失，客户端放弃"),
	NewText("held for order {}; {} answer lost", "已为订单 {} 预扣；{} 个应答丢失"),
	NewText("redislock: {} of {} replicas have the grant", "redislock：{}/{} 个副本有此授权"),
}

// patterns match the phrases. They are compiled at the first use: a program that plays no experiment starts without.
var patterns = sync.OnceValue(func() []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(phrases))
	for i, p := range phrases {
		all[i] = regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(p.EN), `\{\}`, `(.+?)`) + "$")
	}
	return all
})

// inChinese translates a phrase and reports whether text is one.
func inChinese(text string) (string, bool) {
	for i, p := range patterns() {
		found := p.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		said := phrases[i].ZH
		for _, value := range found[1:] {
			said = strings.Replace(said, "{}", value, 1)
		}
		return said, true
	}
	return "", false
}

// Translate fills the Chinese of each case.
func (r *Result) Translate() {
	for i := range r.Cases {
		r.Cases[i].translate()
	}
}

// translate fills Chinese with the translations of the words in the timeline.
func (c *CaseResult) translate() {
	c.Chinese = map[string]string{}
	add := func(texts ...string) {
		for _, text := range texts {
			if said, known := inChinese(text); known {
				c.Chinese[text] = said
			}
		}
	}
	add(c.Actors...)
	for _, e := range c.Events {
		add(e.What, e.Note)
	}
	for _, s := range c.Spans {
		add(s.Label)
	}
	for _, t := range c.Schedule {
		add(t.Until...)
	}
}

// Told returns the name of an actor, a step or its answer in a language, "en" or "zh".
func (c CaseResult) Told(text, language string) string {
	if said, known := c.Chinese[text]; known && language == "zh" {
		return said
	}
	return text
}
