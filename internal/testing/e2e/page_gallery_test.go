package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/seckill/internal/testing/testservers"
)

// TestPage_Gallery_ShowsAWrongImplementation looks at one of the subjects, and searches for one that is in none.
func TestPage_Gallery_ShowsAWrongImplementation(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for _, l := range testservers.Sample(t, 1, allWidths) {
		t.Run(l.String(), func(t *testing.T) {
			v := b.open(t, shop.url+"?lang="+l.language, l)
			assert.False(t, js[bool](v, loadedGallery), "it is loaded by who does not look at it")
			v.view("lab")
			v.click(`#view-lab a[href="#gallery"]`)
			v.until("document.querySelectorAll('#mutants button').length > 80")
			assert.Equal(t, "#lab", js[string](v, `document.querySelector("#views [aria-current]").hash`))
			v.click(`#mutants button[value="order/acknowledged-before-the-commit"]`)
			v.hasFocus("#g-title")
			v.says("#g-file", "internal/order/queue.go")
			v.says("#g-diff .bad", "s.queue.Ack(ctx, *a.entry)")
			v.says("#g-by", "TestWorker_OutcomeUnknown_DoesNotAcknowledge")
			v.says("#g-killers", "go test ./internal/order")
			v.says("#g-breaks", v.word("I11"))
			v.fits("gallery", l)

			v.find("#g-search", "no such thing")
			v.means("#g-found", "g_nothing")
			v.find("#g-search", "begin-without-its-level")
			v.until("document.querySelectorAll('#mutants button').length === 1")
			v.click("#mutants button")
			v.says("#g-file", "internal/store/")
			assert.False(t, js[bool](v, `document.querySelector("#g-breaks-title").checkVisibility()`), "it breaks no invariant")
			v.click("#language")
			v.until(`document.title.startsWith(document.querySelector("#gallery-title").textContent)`)
			assert.Equal(t, 1, js[int](v, "document.querySelectorAll('#mutants button').length"), "the search stays")
		})
	}
}

// loadedGallery is whether the page has asked for the gallery.
const loadedGallery = `performance.getEntriesByType("resource").some((e) => e.name.endsWith("gallery.json"))`
