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

// WritePage writes the sum as one HTML file that loads nothing from elsewhere.
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
