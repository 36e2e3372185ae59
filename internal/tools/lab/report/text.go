package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"example.com/seckill/internal/tools/lab/harness"
)

// Line returns the verdict on one line, for the table of all experiments.
func Line(r harness.Result, language string) string {
	return fmt.Sprintf("%-10s %-26s %s", mark(r, language), r.Name, short(r, language))
}

// Row writes Line as a row of the table of all experiments.
func Row(w io.Writer, r harness.Result, language string) error {
	if _, err := fmt.Fprintln(w, Line(r, language)); err != nil {
		return fmt.Errorf("print the verdict: %w", err)
	}
	return nil
}

func mark(r harness.Result, language string) string {
	switch {
	case r.NotRun != nil:
		return word(language, "not run", "未运行")
	case r.Failed != "":
		return word(language, "FAILED", "出错")
	case !r.AsExpected():
		return word(language, "UNEXPECTED", "不符")
	case r.Recorded != nil:
		return word(language, "recorded", "录制")
	}
	return word(language, "ok", "符合")
}

// short returns the most telling number, wrong against right.
func short(r harness.Result, language string) string {
	switch {
	case r.NotRun != nil:
		return r.NotRun.In(language)
	case r.Failed != "":
		return r.Failed
	}
	var bad, good []string
	name := ""
	for _, c := range r.Cases {
		n := decisive(c)
		if c.NotRun != nil || n == nil {
			continue
		}
		if name == "" {
			name = n.Name.In(language)
		}
		if value := strconv.FormatInt(n.Value, 10); c.Wrong {
			bad = append(bad, value)
		} else {
			good = append(good, value)
		}
	}
	verdict := fmt.Sprintf(word(language, "wrong %s, right %s: %s", "错误 %s，正确 %s：%s"), joined(bad), joined(good), name)
	if slices.Contains(r.Servers, harness.EmbeddedRedis) {
		verdict += word(language, ", on the embedded Redis", "，在内嵌的 Redis 上")
	}
	return verdict
}

// Origin returns when and on which servers a recorded result was recorded, and that it was not played here.
// For any other result it returns "".
func Origin(r harness.Result, language string) string {
	if r.Recorded == nil {
		return ""
	}
	return r.Recorded.In(language) + word(language, ", and not played here", "，并非在此运行")
}

// words returns the texts in one language.
func words(all []harness.Text, language string) []string {
	var said []string
	for _, t := range all {
		said = append(said, t.In(language))
	}
	return said
}

// joined joins the values with slashes, and returns one value if all are the same.
func joined(values []string) string {
	return strings.Join(slices.Compact(slices.Clone(values)), "/")
}

// decisive returns the decisive rule that was broken, or the first decisive rule.
func decisive(c harness.CaseResult) *harness.Number {
	var first *harness.Number
	for i := range c.Numbers {
		n := &c.Numbers[i]
		if n.Decides && !n.Held {
			return n
		}
		if n.Decides && first == nil {
			first = n
		}
	}
	return first
}

// Text writes the full report on one experiment.
func Text(w io.Writer, r harness.Result, language string) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s  %s\n%s\n\n", r.Name, r.Title.In(language), Line(r, language))
	fmt.Fprintf(&out, "%s\n\n%s %s\n", wrapped(r.Lesson.In(language)), word(language, "Seen:", "常见于："), wrapped(r.Wild.In(language)))
	if Many(r) {
		tableText(&out, r, language)
	} else {
		for _, c := range r.Cases {
			caseText(&out, c, language)
		}
	}
	if r.Recorded != nil {
		fmt.Fprintf(&out, "\n%s\n", Origin(r, language))
	}
	if len(r.Servers) > 0 {
		fmt.Fprintf(&out, "\n%s %s\n", word(language, "on", "运行于"), strings.Join(words(r.Servers, language), ", "))
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("print the experiment: %w", err)
	}
	return nil
}

// Many reports whether an experiment has too many cases for timelines. A table of their numbers then tells
// more.
func Many(r harness.Result) bool { return len(r.Cases) > 8 }

// tableText writes one row per case, and one column per number.
func tableText(out *strings.Builder, r harness.Result, language string) {
	for i, c := range r.Cases {
		if i == 0 {
			out.WriteByte('\n')
			for n, number := range c.Numbers {
				fmt.Fprintf(out, "  [%d] %s %s\n", n+1, number.Name.In(language), number.Bound)
			}
			out.WriteByte('\n')
		}
		fmt.Fprintf(out, "  %s", caseName(c, language))
		for n, number := range c.Numbers {
			sign := " "
			if !number.Held {
				sign = "✘"
			}
			fmt.Fprintf(out, "  [%d] %3d %s", n+1, number.Value, sign)
		}
		fmt.Fprintf(out, "  %s\n", c.Label.In(language))
	}
}

func caseText(out *strings.Builder, c harness.CaseResult, language string) {
	fmt.Fprintf(out, "\n%s  %s\n", caseName(c, language), c.Label.In(language))
	if c.NotRun != nil {
		fmt.Fprintf(out, "  %s: %s\n", word(language, "not run", "未运行"), c.NotRun.In(language))
		return
	}
	for _, n := range c.Numbers {
		sign := "✔"
		if !n.Held {
			sign = "✘"
		}
		bound := ""
		if n.Bound != "" {
			bound = "  (" + n.Bound + ")"
		}
		fmt.Fprintf(out, "  %s %s: %d%s\n", sign, n.Name.In(language), n.Value, bound)
	}
	out.WriteByte('\n')
	for _, e := range c.Events {
		line := fmt.Sprintf("  %8.1f ms  %s %s %s", e.AtMS, padded(c.Told(e.Actor, language), 14),
			padded(server(e.Server, language), 9), whatOf(c, e, language))
		if note := noteOf(c, e, language); note != "" {
			line += "   " + note
		}
		out.WriteString(line + "\n")
		if e.Anomaly != nil {
			fmt.Fprintf(out, "  %11s  ▲ %s: %s\n", "", word(language, "here it goes wrong", "就在这里出错"), e.Anomaly.In(language))
		}
	}
}

func caseName(c harness.CaseResult, language string) string {
	if c.Wrong {
		return word(language, "WRONG", "错误")
	}
	return word(language, "RIGHT", "正确")
}

func server(s harness.Server, language string) string {
	switch s {
	case harness.Redis, harness.RealRedis, harness.OwnRedis:
		return "redis"
	case harness.Database:
		return word(language, "database", "数据库")
	case harness.Process:
	}
	return word(language, "process", "进程")
}

// JSON writes one object on one line.
func JSON(w io.Writer, r harness.Result) error {
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return fmt.Errorf("print the experiment: %w", err)
	}
	return nil
}

func word(language, en, zh string) string { return harness.NewText(en, zh).In(language) }

// width is the length of a line.
const width = 96

// Summary writes how many experiments went as expected, and how to let the others run.
func Summary(w io.Writer, results []harness.Result, embedded bool, language string) {
	expected, notRun := 0, 0
	for _, one := range results {
		switch {
		case one.NotRun != nil:
			notRun++
		case one.AsExpected():
			expected++
		}
	}
	if len(results) > 1 {
		summary := word(language, "\n%d of %d as expected, %d not run\n", "\n符合预期 %d 个，共 %d 个，未运行 %d 个\n")
		_, _ = fmt.Fprintf(w, summary, expected, len(results), notRun)
	}
	if notRun > 0 && !embedded {
		_, _ = fmt.Fprintln(w, word(language,
			"install what is missing, or name servers of your own: --mysql DSN, --redis HOST:PORT;\n"+
				"without any, lab run NAME shows what was recorded on real servers, and --recorded all of it",
			"请安装缺少的程序，或指定自己的服务器：--mysql DSN、--redis HOST:PORT；\n"+
				"没有服务器时，lab run NAME 显示在真实服务器上的录制，--recorded 显示全部录制"))
	}
}
