package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/seckill/internal/tools/lab/harness"
)

// Question is what is asked about an experiment before its result is told: the number that its first wrong
// case counts, when the schedule is known and nothing else.
type Question struct {
	Case     int            `json:"case"` // the number of the case
	Text     harness.Text   `json:"text"`
	Schedule []harness.Text `json:"schedule"` // of the case: the turns that moved something
	Choices  []int64        `json:"choices"`  // in order; the answer is one of them, and so is what the rule allows
	Answer   int64          `json:"answer"`
	Steps    []harness.Text `json:"steps"` // of the case, each as a sentence; none if its cases are a table
}

// Ask returns the question about an experiment, and false if its result has none.
func Ask(r harness.Result) (q Question, ok bool) {
	q.Case = slices.IndexFunc(r.Cases, func(c harness.CaseResult) bool { return c.Wrong && c.NotRun == nil })
	if q.Case < 0 || r.Asks == (harness.Text{}) {
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
	q.Text = r.Asks
	turns, rest := moved(c)
	for _, turn := range turns {
		q.Schedule = append(q.Schedule, turnText(c, turn))
	}
	if len(q.Schedule) > 0 && rest {
		q.Schedule = append(q.Schedule, harness.NewText("then each to its end", "然后各自执行到结束"))
	}
	if !Many(r) {
		for _, e := range c.Events {
			q.Steps = append(q.Steps, harness.NewText(sentenceOf(c, e, "en"), sentenceOf(c, e, "zh")))
		}
	}
	return q, true
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
		return harness.NewText(c.Told(t.Actor, "en")+", stopped before "+join("en"), c.Told(t.Actor, "zh")+"，停在 "+join("zh")+" 之前")
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
	said := c.Told(e.Actor, language) + word(language, ": ", "：") + whatOf(c, e, language)
	if note := noteOf(c, e, language); note != "" {
		said += word(language, ", ", "，") + strings.TrimPrefix(note, "→ ")
	}
	if e.Anomaly != nil {
		said += word(language, ". Here it goes wrong: ", "。就在这里出错：") + sentence(c, *e.Anomaly, language)
	}
	return said
}
