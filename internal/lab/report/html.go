package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"seckill/internal/lab/harness"
)

//go:embed page.html
var pageText string

// page is the template of the page.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"timeline": timeline,
	"side":     side,
	"state":    state,
	"verdict":  short,
	"many":     Many,
	"bound":    func(n harness.Number) string { return strings.ReplaceAll(n.Bound, " ", "\u00a0") }, // no line break at its blank
}).Parse(pageText))

// HTML writes one self-contained page: it loads nothing, runs no script, is light or dark as the
// reader's system is, and is in English or Chinese as the reader chooses.
func HTML(w io.Writer, results []harness.Result) error {
	expected := 0
	for _, r := range results {
		if r.AsExpected() {
			expected++
		}
	}
	data := struct {
		Results  []harness.Result
		Expected int
	}{results, expected}
	if err := page.Execute(w, data); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// timeline draws a case for the page. SVG escapes what it quotes.
func timeline(c harness.CaseResult, language string) (template.HTML, error) {
	var out strings.Builder
	err := SVG(&out, c, language)
	return template.HTML(out.String()), err //nolint:gosec // escaped by SVG
}

// state returns the class in which an experiment's verdict is shown.
func state(r harness.Result) string {
	switch {
	case r.NotRun != nil:
		return "notrun"
	case r.AsExpected():
		return "ok"
	}
	return "bad"
}
