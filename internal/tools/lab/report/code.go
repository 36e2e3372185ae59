package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"example.com/seckill/internal/tools/lab/harness"
)

//go:embed code.html
var codeText string

// code is the template of the source that stands beside a drawing.
var code = template.Must(template.New("code").Parse(codeText))

// source is what the template shows.
type source struct {
	Place  *harness.Place
	Signs  []sign
	Blocks []excerpt
}

// excerpt is a part of a file.
type excerpt struct {
	File  string
	Lines []sourceLine
}

// sourceLine is a line, or how many are left out.
type sourceLine struct {
	Text, Class, Sign string
	Out               int
}

// sign marks what the cases do differently.
type sign struct {
	Class, Sign string
	Name        harness.Text
}

// signs are those of the page.
var signs = []sign{
	{"bad", "✘", harness.NewText("run by the wrong case alone", "只有错误写法执行")},
	{"good", "✔", harness.NewText("run by the right case alone", "只有正确写法执行")},
	{"differs", "≠", harness.NewText("run by both, to another effect", "两者都执行，但做的事不同")},
}

// class returns how a line differs between wrong and right, if it does.
func class(line harness.Line) string {
	switch {
	case line.Differs:
		return "differs"
	case line.Wrong && !line.Right:
		return "bad"
	case line.Right && !line.Wrong:
		return "good"
	}
	return ""
}

// Code returns the source of an experiment in HTML, with what wrong and right do differently, in both
// languages. It is empty if the result has none.
func Code(r harness.Result) (template.HTML, error) {
	if len(r.Code) == 0 {
		return "", nil
	}
	s := source{Place: r.Place}
	for _, b := range r.Code {
		part := excerpt{File: b.File}
		for _, line := range b.Lines {
			last := len(part.Lines) - 1
			switch {
			case !line.Folded:
				part.Lines = append(part.Lines, s.line(line))
			case last >= 0 && part.Lines[last].Out > 0:
				part.Lines[last].Out++
			default:
				part.Lines = append(part.Lines, sourceLine{Out: 1})
			}
		}
		s.Blocks = append(s.Blocks, part)
	}
	var out strings.Builder
	if err := code.Execute(&out, s); err != nil {
		return "", fmt.Errorf("write the code of %s: %w", r.Name, err)
	}
	return template.HTML(out.String()), nil //nolint:gosec // escaped by its template
}

// line returns a line as it is shown, and notes its sign.
func (s *source) line(line harness.Line) sourceLine {
	shown := sourceLine{Text: line.Text, Class: class(line)}
	if n := slices.IndexFunc(signs, func(one sign) bool { return one.Class == shown.Class }); n >= 0 {
		shown.Sign = signs[n].Sign
		if !slices.Contains(s.Signs, signs[n]) {
			s.Signs = append(s.Signs, signs[n])
		}
	}
	return shown
}
