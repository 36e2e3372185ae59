package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/seckill/internal/testing/testservers"
)

// TestPage_Drawing_ShowsTheFaultWithoutWords hides every text of the experiment that all begins with.
// A mark, two transactions at once, and two orders are seen in its wrong case, and none of them in its
// right one; both are on one screen, or each on one screen of a phone.
func TestPage_Drawing_ShowsTheFaultWithoutWords(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for _, l := range testservers.Sample(t, 1, []look{{language: "en"}, {language: "zh", phone: true, dark: true}}) {
		t.Run(l.String(), func(t *testing.T) {
			v := b.open(t, shop.url+"?lang="+l.language, l)
			v.view("lab")
			v.click(`#experiments button[value="unlock-before-commit"]`)
			v.click("#x-all")
			v.until("document.querySelectorAll('#x-cases .heads').length === 2")
			js[bool](v, `((sheet) => {
				sheet.replaceSync("#x-cases * { color: transparent !important }")
				document.adoptedStyleSheets.push(sheet)
				return true
			})(new CSSStyleSheet())`)
			for k, wrong := range []bool{true, false} {
				found := js[wordless](v, "("+tellsWithoutWords+")("+itoa(k)+")")
				expected := map[bool]wordless{true: {1, true, 2, 1}, false: {0, false, 1, 0}}[wrong]
				assert.Equal(t, expected,
					wordless{found.Marks, found.Overlap, found.Orders, found.Over}, "case %d", k)
			}
			_, screen := l.size()
			if l.phone {
				for k := range 2 {
					assert.LessOrEqual(t, js[int](v, "("+height+")('.k"+itoa(k)+"')"), int(screen), "case %d is more than a screen", k)
				}
			} else {
				assert.LessOrEqual(t, js[int](v, "("+height+")('.part')"), int(screen), "wrong and right are more than a screen")
			}
			assert.LessOrEqual(t, js[int](v, overhang), 0)
			v.picture("wordless-" + l.String())
		})
	}
}

// wordless is what of a case is seen without its words.
type wordless struct {
	Marks   int
	Overlap bool // one transaction begins before the other has ended
	Orders  int
	Over    int // orders that should not be
}

// tellsWithoutWords is a function of the page's: what is seen of case k. Only what has a colour of its own counts.
const tellsWithoutWords = `k => {
	const seen = (e) => e.checkVisibility() && !/^(transparent|rgba\(.*, 0\))$/.test(getComputedStyle(e).backgroundColor)
	const all = (s) => [...document.querySelectorAll("#x-cases .k" + k + " " + s)].filter(seen)
	const span = (n) => all(".lane:nth-of-type(" + n + ") .transaction").map((e) => e.getBoundingClientRect())
	const from = (n) => Math.min(...span(n).map((r) => r.top)), to = (n) => Math.max(...span(n).map((r) => r.bottom))
	return { Marks: all(".mark").length, Overlap: from(2) < to(1) - 1, Orders: all(".unit").length, Over: all(".unit.over").length }
}`

// height is a function of the page's: how high the parts of the drawing are together.
const height = `s => {
	const all = [...document.querySelectorAll("#x-cases " + s)].filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect())
	return Math.ceil(Math.max(...all.map((r) => r.bottom)) - Math.min(...all.map((r) => r.top)))
}`
