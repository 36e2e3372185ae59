package chaos

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"example.com/seckill/internal/tools/tool"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// WritePage writes the summary as one self-contained HTML file.
func (s Summary) WritePage(path string) error {
	err := tool.WriteFile(path, func(w io.Writer) error { return page.Execute(w, s) })
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
