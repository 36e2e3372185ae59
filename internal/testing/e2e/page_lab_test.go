package e2e_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"example.com/seckill/internal/testing/testservers"
)

// The test goes through a recorded experiment: a guess, step by step, and
// then everything.
func TestPage_LabExperiment_AsksBeforeAnswer(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for _, l := range testservers.Sample(t, 1, allWidths) {
		t.Run(l.String(), func(t *testing.T) {
			v := b.open(t, shop.url+"?lang="+l.language, l)
			fits := func(phase string) { v.fits("lab-"+phase, l) }
			v.view("lab")
			v.until("document.querySelectorAll('#experiments li').length > 20")
			v.search("stale-holder")
			v.until("document.querySelectorAll('#experiments li').length === 1")
			v.search("no such thing")
			v.means("#x-found", "x_nothing")
			v.search("")
			v.click(`#experiments button[value="unlock-before-commit"]`)
			v.until("document.querySelectorAll('#x-schedule li').length === 4")
			assert.False(t, js[bool](v, tells), "the answer stands beside the question")
			assert.Equal(t, "1 2 3 4", js[string](v, `[...document.querySelectorAll("#x-choices button")].map((b) => b.value).join(" ")`))
			assert.Equal(t, 21, js[int](v, `document.querySelectorAll("#x-code li").length`), "twenty lines of code stand beside the schedule, and that the rest is left out")
			assert.Equal(t, 0, js[int](v, differing))
			fits("ask")

			v.click(`#x-choices button[value="1"]`)
			v.hasFocus("#x-next")
			v.says("#x-count", "1 / 12")
			assert.False(t, js[bool](v, tells), "the answer stands beside the first step")
			for range 10 {
				v.press(kb.ArrowRight)
			}
			v.says("#x-count", "11 / 12")
			v.press(kb.ArrowLeft)
			v.says("#x-count", "10 / 12")
			v.says("#x-code [aria-current=step]", `a.Unlock("user:42")`)
			fits("steps")
			v.press(kb.ArrowRight)
			v.press(kb.ArrowRight)
			v.means("#x-next", "x_last")
			assert.True(t, js[bool](v, `document.querySelector("#x-cases .mark").checkVisibility()`), "the step is marked with which it goes wrong")
			v.press(kb.Enter)
			v.hasFocus("#x-answer")
			v.says("#x-answer", strings.ReplaceAll(v.word("x_wrong"), "{m}", "2"))
			assert.True(t, js[bool](v, tells))
			assert.Equal(t, 4, js[int](v, differing), "unlock and commit, in either order")
			v.says("#x-place", "internal/order/place.go")
			fits("told")
		})
	}
}

// differing counts the lines that are marked as different between wrong and right.
const differing = `document.querySelectorAll("#x-code .bad, #x-code .good, #x-code .differs").length`

// search types into the search of the experiments.
func (v *tab) search(words string) {
	v.t.Helper()
	v.find("#x-search", words)
}

// tells is whether the page tells what came of the experiment: its lesson, its right case, or a number.
const tells = `["#x-lesson", "#x-cases .heads.right", "#x-cases .broken", "#x-cases .mark"].some((s) => document.querySelector(s)?.checkVisibility())`

func TestPage_LanguageInURL_HoldsUntilVisitorChooses(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	v := b.open(t, shop.url+"?lang=zh#lab", look{language: "en"})
	v.until(`document.documentElement.lang === "zh-Hans"`)
	v.click("#language")
	v.until(`document.documentElement.lang === "en" && location.search === "" && location.hash === "#lab"`)
}
