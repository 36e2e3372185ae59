package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"example.com/seckill/internal/tools/lab/harness"
)

// ErrNoAnswer means that the answers ended before the questions.
var ErrNoAnswer = errors.New("the question was not answered: --ask reads answers from the standard input, which has ended")

// Quiz asks about an experiment before it tells of it: the schedule, a guess, then the steps of the wrong
// case one by one, a line of the answers each, and then all that Text writes. What has no question is told.
func Quiz(w io.Writer, answers *bufio.Reader, r harness.Result, language string) error {
	q, ok := Ask(r)
	if !ok {
		return Text(w, r, language)
	}
	z := quiz{w: w, answers: answers, language: language}
	z.say("%s\n", r.Title.In(language))
	if r.Recorded != nil {
		z.say("%s\n", Origin(r, language))
	}
	z.say("\n%s %s\n", word(language, "The schedule of the wrong case:", "错误写法的执行次序："), r.Cases[q.Case].Label.In(language))
	if len(q.Schedule) == 0 {
		z.say("  %s\n", word(language, "each goes to its end, one after the other", "每个参与者依次执行到结束"))
	}
	for n, turn := range q.Schedule {
		z.say("  %d. %s\n", n+1, turn.In(language))
	}
	guess := z.guess(q)
	for n, step := range q.Steps {
		z.say("%*d/%d  %s", len(strconv.Itoa(len(q.Steps))), n+1, len(q.Steps), step.In(language))
		if n == 0 {
			z.say("  %s", word(language, "[Enter: the next step]", "[回车：下一步]"))
		}
		z.line()
	}
	switch {
	case z.err != nil:
		return z.err
	case guess == q.Answer:
		z.say(word(language, "\nYou said %d, and so it is.\n\n", "\n您猜 %d，猜对了。\n\n"), guess)
	default:
		z.say(word(language, "\nYou said %d. Counted: %d.\n\n", "\n您猜 %d，实际为 %d。\n\n"), guess, q.Answer)
	}
	if z.err != nil {
		return z.err
	}
	return Text(w, r, language)
}

// quiz is a conversation. After its first error it says and reads nothing.
type quiz struct {
	w        io.Writer
	answers  *bufio.Reader
	language string
	err      error
}

func (z *quiz) say(format string, values ...any) {
	if z.err != nil {
		return
	}
	if _, err := fmt.Fprintf(z.w, format, values...); err != nil {
		z.err = fmt.Errorf("print the question: %w", err)
	}
}

// line reads a line of the answers. The last one need not be ended.
func (z *quiz) line() string {
	if z.err != nil {
		return ""
	}
	text, err := z.answers.ReadString('\n')
	if err != nil && text == "" {
		z.err = ErrNoAnswer
		if !errors.Is(err, io.EOF) {
			z.err = fmt.Errorf("read the answer: %w", err)
		}
	}
	return strings.TrimSpace(text)
}

// guess asks until one of the choices is answered.
func (z *quiz) guess(q Question) int64 {
	var choices []string
	for _, n := range q.Choices {
		choices = append(choices, strconv.FormatInt(n, 10))
	}
	z.say("\n%s\n", q.Text.In(z.language))
	for z.err == nil {
		z.say("%s > ", strings.Join(choices, " / "))
		said := z.line()
		if n := slices.Index(choices, said); n >= 0 {
			z.say("\n")
			return q.Choices[n]
		}
		if z.err == nil {
			z.say(word(z.language, "%q is none of them\n", "%q 不在其中\n"), said)
		}
	}
	return 0
}
