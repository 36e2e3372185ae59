package chaos

import (
	_ "embed"
	"fmt"
	"html/template"
	"os"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// WritePage writes the summary as one self-contained HTML file.
func (s Summary) WritePage(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	if err := page.Execute(f, s); err != nil {
		_ = f.Close()
		return fmt.Errorf("write the page: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
