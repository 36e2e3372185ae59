package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// TestLabReport_EveryWidth_Fits looks at the file that `lab run all --html` writes.
func TestLabReport_EveryWidth_Fits(t *testing.T) {
	t.Parallel()
	b := theBrowser(t)
	folder := t.TempDir()
	written := run(t, nil, "lab", "run", "all", "--recorded", "--html", filepath.Join(folder, "lab.html"))
	require.Zero(t, written.code(), written.err.String())
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(server.Close)
	for _, l := range testservers.Sample(t, 1, allWidths) {
		t.Run(l.String(), func(t *testing.T) {
			v := b.visit(t, server.URL+"/lab.html", l)
			v.until(`document.querySelectorAll("article").length > 20`)
			if l.language == "zh" {
				v.click(`label:has(#chinese)`)
			}
			assert.LessOrEqual(t, js[int](v, overhang), 0, "it is wider than the screen")
			assert.Empty(t, js[[]string](v, fmt.Sprintf(cutOff, "article")), "cut off")
			for _, name := range []string{"unlock-before-commit", "loss-told-late", "herd", "defence-in-depth"} {
				js[bool](v, fmt.Sprintf(`document.querySelectorAll("article").forEach((e) => { e.hidden = e.id !== %q }) ?? true`, name))
				v.picture("report-" + name + "-" + l.String())
			}
		})
	}
}

// cutOff lists what does not show all that is in it, within an element. The dot of a step is wider than its line.
const cutOff = `[...document.querySelectorAll("%s *")].filter((e) => e.checkVisibility() && getComputedStyle(e).display !== "inline" && !e.matches(".rails, .life") &&
	(e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1 && getComputedStyle(e).overflowY === "hidden"))
	.map((e) => e.outerHTML.slice(0, 120))`
