package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"example.com/seckill/internal/api/web"
	"example.com/seckill/internal/tools/lab/harness"
)

//go:embed page.html
var pageText string

// page is the template of the page.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"beside":  beside,
	"code":    Code,
	"drawing": inserted,
	"origin":  Origin,
	"prose":   prose,
	"state":   state,
	"verdict": short,
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
		Style    template.CSS
	}{results, expected, template.CSS(web.Colours + web.Drawing)} //nolint:gosec // the page's own styles
	if err := page.Execute(w, data); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// inserted draws an experiment for the page.
func inserted(r harness.Result, language string) (template.HTML, error) {
	text, err := Drawing(r, language)
	return template.HTML(text), err //nolint:gosec // escaped by its template
}

// beside reports whether the code has room beside the drawing: it has where at most two cases stand there.
func beside(r harness.Result) bool { return len(r.Cases) <= 2 }

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
