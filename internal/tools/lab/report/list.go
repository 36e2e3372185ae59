package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/seckill/internal/tools/lab/harness"
)

// List is the list of all experiments: the groups, in each the experiments with a mark for the servers on which they
// would run, and below what the marks mean. The zero value is an empty list.
type List struct {
	lines []listLine
	where []harness.Text // by mark
}

// listLine is a group or an experiment.
type listLine struct {
	group harness.Text // of a group
	e     harness.Experiment
	mark  int // of an experiment: index into where
}

// Group begins a group.
func (l *List) Group(title harness.Text) { l.lines = append(l.lines, listLine{group: title}) }

// Add adds an experiment to the last group, with the servers on which it would run, or the error that it lacks one.
func (l *List) Add(e harness.Experiment, on []harness.Text, lacks error) error {
	where := harness.NewText(strings.Join(words(on, "en"), ", "), strings.Join(words(on, "zh"), "、"))
	if none := (*harness.NoServerError)(nil); errors.As(lacks, &none) {
		where = harness.NewText("not run here: "+none.Why.EN, "此处不运行："+none.Why.ZH)
	} else if lacks != nil {
		return fmt.Errorf("list %s: %w", e.Name, lacks)
	}
	mark := slices.Index(l.where, where)
	if mark < 0 {
		mark = len(l.where)
		l.where = append(l.where, where)
	}
	l.lines = append(l.lines, listLine{e: e, mark: mark})
	return nil
}

// listWidth is the length of a line of the list.
const listWidth = 79

// WriteText writes the list. A title that is too long continues on the next line.
func (l *List) WriteText(w io.Writer, language string) error {
	var out strings.Builder
	for i, one := range l.lines {
		if title := one.group.In(language); title != "" {
			if i == 0 {
				title += word(language, ": start here", "：从这里开始")
			} else {
				out.WriteByte('\n')
			}
			out.WriteString(title + "\n")
			continue
		}
		head := fmt.Sprintf("  %s %-26s ", listMark(one.mark), one.e.Name)
		for n, part := range strings.Split(wrappedAt(one.e.Title.In(language), listWidth-columns(head)), "\n") {
			if n > 0 {
				head = strings.Repeat(" ", columns(head))
			}
			out.WriteString(head + part + "\n")
		}
	}
	out.WriteString("\n" + word(language, "Where they run here:", "此处的运行环境：") + "\n")
	for i, where := range l.where {
		head := "  " + listMark(i) + " "
		for part := range strings.SplitSeq(wrappedAt(where.In(language), listWidth-columns(head)), "\n") {
			out.WriteString(head + part + "\n")
			head = strings.Repeat(" ", columns(head))
		}
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("print the list: %w", err)
	}
	return nil
}

// listMark returns a letter for a set of servers.
func listMark(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	n = min(n, len(letters)-1)
	return letters[n : n+1]
}
