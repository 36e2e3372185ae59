package bench

import (
	"regexp"
	"strings"
)

// phrases are what a timeline says in words, of actors, steps and answers. A {} is
// whatever stands there, in the same place in both languages. A text that is not here
// is the same in every language: a command, a statement, or what a server said.
var phrases = []Text{
	Say("first tap", "第一次点击"),
	Say("second tap", "第二次点击"),
	Say("worker {}", "进程 {}"),
	Say("user {}", "用户 {}"),
	Say("buyer", "买家"),
	Say("buyers", "买家们"),
	Say("slow buyer", "慢买家"),
	Say("crowd", "人群"),
	Say("others", "其他人"),
	Say("editor", "编辑"),
	Say("batch job", "批处理"),
	Say("network", "网络"),
	Say("world", "外界"),

	Say("goes in", "进入"),
	Say("comes out", "离开"),
	Say("dies", "崩溃"),
	Say("sleeps a little", "稍睡片刻"),
	Say("stalls until the lease of {} has run out", "停顿，直到 {} 的租约到期"),
	Say("works for longer than the lease", "工作时间超过租约"),
	Say("works until the lease's context ends", "工作到租约的 context 结束"),
	Say("waits for a message", "等待消息"),
	Say("waits for twice a lease", "等待两倍租约的时间"),
	Say("waits for {}", "等待 {}"),
	Say("a connection for the lock", "为锁取一个连接"),
	Say("a connection for the transaction", "为事务取一个连接"),
	Say("the network falls silent", "网络失去响应"),
	Say("the network is back", "网络恢复"),
	Say("the master dies", "主节点崩溃"),
	Say("the replica lags", "副本落后"),
	Say("the replica is promoted", "副本升为主节点"),
	Say("node {} goes away", "节点 {} 离线"),
	Say("node {} comes back, empty", "节点 {} 恢复，数据已空"),
	Say("node {}'s clock jumps ahead: its lease is over", "节点 {} 的时钟向前跳：租约在那里结束"),
	Say("{} users tap {} times for {} units", "{} 个用户各点 {} 次，抢 {} 份"),
	Say("lease row {} for {} ms", "租约行 {}，{} 毫秒"),
	Say("GET lock, to renew it", "GET lock，准备续期"),
	Say("LOCK {} for {} ms", "LOCK {}，{} 毫秒"),
	Say("REDLOCK {} on {} nodes", "REDLOCK {}，{} 个节点"),
	Say("RESERVE and CONFIRM for users {} to {}", "RESERVE 与 CONFIRM，用户 {} 至 {}"),
	Say("RESERVE for user {}", "RESERVE，用户 {}"),
	Say("RESERVE request {} (a script, by request id)", "RESERVE 请求 {}（脚本，按请求号）"),
	Say("shard {}: IF stock > 0 THEN DECR, for user {}", "分片 {}：IF stock > 0 THEN DECR，用户 {}"),

	Say("waits …", "等待 …"),
	Say("gives up", "放弃"),
	Say("refused", "被拒"),
	Say("ours", "拿到了"),
	Say("ours, fence {}", "拿到了，栅栏 {}"),
	Say("fence {}", "栅栏 {}"),
	Say("a majority; fence {}", "多数派；栅栏 {}"),
	Say("another's", "别人的"),
	Say("→ {}: not ours", "→ {}：不是自己的"),
	Say("not ours: nothing freed", "不是自己的：什么也没释放"),
	Say("free", "已释放"),
	Say("it is free", "已空闲"),
	Say("still there after {}", "{} 后仍在"),
	Say("deleted", "已删除"),
	Say("nothing deleted", "什么也没删"),
	Say("renewed: true", "续期成功"),
	Say("renewed: false", "续期失败"),
	Say("lost; another gets the key in {}", "已失去；别人拿到此键还要 {}"),
	Say("nil: somebody wrote in between, again", "nil：期间有人写过，重来"),
	Say("no row", "没有行"),
	Say("{} row", "{} 行"),
	Say("{} rows", "{} 行"),
	Say("{} orders", "{} 单"),
	Say("sold", "已售出"),
	Say("{} left there", "那里还剩 {}"),
	Say("sold out, says the shard", "分片说已售罄"),
	Say("busiest slot: {}, slots: {}", "最忙的槽：{}，槽数：{}"),
	Say("{} answers lost, and the client gave up", "{} 个应答丢失，客户端放弃"),
	Say("held for order {}; {} answer lost", "为订单 {} 占用；{} 个应答丢失"),
	Say("redislock: {} of {} replicas have the grant", "redislock：{}/{} 个副本有此授权"),
}

// patterns are the phrases, to be found.
var patterns = func() []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(phrases))
	for i, p := range phrases {
		all[i] = regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(p.EN), `\{\}`, `(.+?)`) + "$")
	}
	return all
}()

// inChinese says a phrase in Chinese; false if text is none.
func inChinese(text string) (string, bool) {
	for i, p := range patterns {
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

// translate says in Chinese what the case's timeline says in words.
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
}

// Told is what an actor, a step or its answer is called in a language, "en" or "zh".
func (c CaseResult) Told(text, language string) string {
	if said, known := c.Chinese[text]; known && language == "zh" {
		return said
	}
	return text
}
