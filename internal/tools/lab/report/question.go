package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/seckill/internal/tools/lab/harness"
)

// Question is what is asked about an experiment before its result is told: how often the rule of its
// first wrong case is broken, when the schedule is known and nothing else.
type Question struct {
	Case     int            `json:"case"` // the number of the case
	Text     harness.Text   `json:"text"`
	Schedule []harness.Text `json:"schedule"` // of the case, a turn each
	Choices  []int64        `json:"choices"`  // in order; the answer is one of them, and so is what the rule allows
	Answer   int64          `json:"answer"`
	Steps    []harness.Text `json:"steps"` // of the case, each as a sentence; none if its cases are a table
}

// Ask returns the question about an experiment, and false if its result has none.
func Ask(r harness.Result) (q Question, ok bool) {
	q.Case = slices.IndexFunc(r.Cases, func(c harness.CaseResult) bool { return c.Wrong && c.NotRun == nil })
	if q.Case < 0 {
		return q, false
	}
	c := r.Cases[q.Case]
	n := decisive(c)
	if n == nil {
		return q, false
	}
	allowed, err := strconv.ParseInt(strings.TrimLeft(n.Bound, "≤= "), 10, 64)
	if err != nil {
		return q, false
	}
	q.Answer, q.Choices = n.Value, choices(n.Value, allowed)
	q.Text = question(*n, allowed)
	for _, turn := range c.Schedule {
		q.Schedule = append(q.Schedule, turnText(c, turn))
	}
	if len(q.Schedule) > 0 && slices.ContainsFunc(c.Actors, func(a string) bool { return !ends(c.Schedule, a) }) {
		q.Schedule = append(q.Schedule, harness.NewText("then each to its end", "然后各自执行到结束"))
	}
	if !Many(r) {
		for _, e := range c.Events {
			q.Steps = append(q.Steps, harness.NewText(sentenceOf(c, e, "en"), sentenceOf(c, e, "zh")))
		}
	}
	return q, true
}

func question(n harness.Number, allowed int64) harness.Text {
	en, zh := "should be", "应为"
	if strings.HasPrefix(n.Bound, "≤") {
		en, zh = "at most", "最多"
	}
	return harness.NewText(
		fmt.Sprintf("What will be counted in the end: %s? (%s %d)", n.Name.EN, en, allowed),
		fmt.Sprintf("最后会数到多少：%s？（%s %d）", n.Name.ZH, zh, allowed))
}

// choices returns numbers to choose from that do not tell which is the answer.
func choices(answer, allowed int64) []int64 {
	low, high := min(answer, allowed), max(answer, allowed)
	all := []int64{low, (low + high) / 2, high, high + (high - low)}
	if high == low+1 {
		all = append(all, high+2)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ends reports whether the last turn of an actor is one to its end.
func ends(schedule []harness.Planned, actor string) (last bool) {
	for _, t := range schedule {
		if t.Actor == actor {
			last = t.Steps == 0 && len(t.Until) == 0
		}
	}
	return last
}

func turnText(c harness.CaseResult, t harness.Planned) harness.Text {
	switch {
	case len(t.Until) > 0:
		join := func(language string) string {
			var said []string
			for _, until := range t.Until {
				said = append(said, "`"+c.Told(until, language)+"`")
			}
			return strings.Join(said, word(language, " or ", " 或 "))
		}
		return harness.NewText(c.Told(t.Actor, "en")+", up to "+join("en"), c.Told(t.Actor, "zh")+"，到 "+join("zh")+" 之前")
	case t.Steps == 1:
		return harness.NewText(c.Told(t.Actor, "en")+", one step", c.Told(t.Actor, "zh")+"，一步")
	case t.Steps > 1:
		return harness.NewText(fmt.Sprintf("%s, %d steps", c.Told(t.Actor, "en"), t.Steps),
			fmt.Sprintf("%s，%d 步", c.Told(t.Actor, "zh"), t.Steps))
	}
	return harness.NewText(c.Told(t.Actor, "en")+", to its end", c.Told(t.Actor, "zh")+"，直到结束")
}

// sentenceOf returns a step as a sentence: an actor, what it does, and what came of it.
func sentenceOf(c harness.CaseResult, e harness.Event, language string) string {
	said := c.Told(e.Actor, language) + word(language, ": ", "：") + c.Told(e.What, language)
	if e.Note != "" {
		said += word(language, ", ", "，") + strings.TrimPrefix(c.Told(e.Note, language), "→ ")
	}
	if e.Anomaly != nil {
		said += word(language, ". Here it goes wrong: ", "。就在这里出错：") + sentence(c, *e.Anomaly, language)
	}
	return said
}
