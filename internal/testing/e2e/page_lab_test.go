package e2e_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
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
			v.until(`document.querySelector("#x-ask").checkVisibility()`) // the first experiment is open
			v.search("stale-holder")
			v.until("document.querySelectorAll('#experiments li').length === 1")
			v.search("no such thing")
			v.means("#x-found", "x_nothing")
			v.search("")
			v.click(`#experiments button[value="unlock-before-commit"]`)
			v.until("document.querySelectorAll('#x-schedule li').length === 3")
			assert.False(t, js[bool](v, tells), "the answer stands beside the question")
			assert.Equal(t, "1 2 3 4", js[string](v, `[...document.querySelectorAll("#x-choices button")].map((b) => b.value).join(" ")`))
			v.says("#x-code", `run.Schedule(tap1.Until("COMMIT")`)
			assert.Equal(t, 23, js[int](v, `document.querySelectorAll("#x-code li").length`), "twenty-one lines of code stand beside the schedule, and twice how many are left out")
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

// steps walks through the steps of the experiment, and returns those at which the button for the next step or the
// step itself was not on the screen.
const steps = `(async () => {
	const lost = []
	const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
	const seen = (e, least, most) => {
		const r = e.getBoundingClientRect()
		return r.height > 0 && r.top >= least - 1 && r.bottom <= most + 1
	}
	for (let n = 1; !document.querySelector("#x-walk").hidden; n++) {
		await frame()
		const bar = document.querySelector("#x-walk").getBoundingClientRect()
		const below = getComputedStyle(document.querySelector("#x-walk")).position === "fixed"
		const now = [...document.querySelectorAll("#x-cases .now")]
		if (!seen(document.querySelector("#x-next"), 0, innerHeight)) lost.push(n + ": the button")
		if (now.length !== 1) lost.push(n + ": " + now.length + " steps are marked")
		else if (!seen(now[0], below ? 0 : bar.bottom, below ? bar.top : innerHeight)) lost.push(n + ": the step")
		document.querySelector("#x-next").click()
	}
	return lost
})()`

func TestPage_LabOnAPhone_KeepsStepAndButtonOnScreen(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for _, name := range []string{"unlock-before-commit", "read-before-lock", "redlock-clock", "stale-holder"} {
		t.Run(name, func(t *testing.T) {
			for _, l := range []look{{language: "zh", phone: true}, {language: "en", tablet: true}} {
				v := b.open(t, shop.url+"?lang="+l.language+"#lab/"+name, l)
				v.click("#x-choices button")
				assert.Empty(t, js[[]string](v, steps), "%s, %s", name, l)
				assert.LessOrEqual(t, js[int](v, overhang), 0)
				v.picture("lab-" + name + "-" + l.String())
			}
		})
	}
}

func TestPage_ExperimentAddress_SurvivesReloadAndBack(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	v := b.open(t, shop.url+"#lab/stale-holder", visitors[0])
	pressed := func(list, name string) {
		t.Helper()
		v.until(`document.querySelector("#` + list + ` [aria-pressed=true]")?.value === "` + name + `"`)
	}
	pressed("experiments", "stale-holder")
	v.says("#x-title", "lost its lease still writes")
	v.click(`#experiments button[value="herd"]`)
	v.hasFocus("#x-title")
	v.until(`location.hash === "#lab/herd"`)
	v.do(chromedp.Reload())
	pressed("experiments", "herd")
	v.says("#x-title", "The herd at the lock")
	v.do(chromedp.NavigateBack())
	pressed("experiments", "stale-holder")
	js[bool](v, `(location.hash = "#lab/nonsense", true)`)
	v.means("#notice", "no_experiment")
	pressed("experiments", "unlock-before-commit")

	const entry = "order/acknowledged-before-the-commit"
	js[bool](v, `(location.hash = "#gallery/`+entry+`", true)`)
	pressed("mutants", entry)
	v.do(chromedp.Reload())
	pressed("mutants", entry)
	v.says("#g-file", "internal/order/queue.go")
	first := js[string](v, `document.querySelector("#mutants button").value`)
	v.click(`#mutants button[value="` + first + `"]`)
	v.hasFocus("#g-title")
	v.until(`location.hash === "#gallery/` + first + `"`)
	v.do(chromedp.NavigateBack())
	pressed("mutants", entry)
}

// A server with real stores has the experiments and their recordings for every visitor, and plays none.
func TestPage_LabOnRealServers_ShowsRecordings(t *testing.T) {
	t.Parallel()
	b, s := theBrowser(t), newShop(t)
	at := s.instance(t)
	v := b.visit(t, at.url+"#lab/stale-holder", visitors[0])
	v.until("document.querySelectorAll('#experiments li').length === 28")
	v.means("#no-lab", "lab_recorded")
	v.click("#x-all")
	v.says("#x-origin", "recorded on")
	v.says("#x-cases", "✔ refused: the database has seen …")
	assert.False(t, js[bool](v, `document.querySelector("#x-run").checkVisibility()`), "the button would be refused")
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
