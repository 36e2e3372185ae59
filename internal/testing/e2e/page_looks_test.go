package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// TestPage_EveryWidth_Fits opens every view in both languages, on a phone and a desktop, light and dark. The test fails
// if a text is cut off, a control has no name, or a word is in the other language.
func TestPage_EveryWidth_Fits(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	shop.saleFrom(t, strings.Repeat("a title as long as it may be, ", 6), 10, -time.Minute)
	for _, l := range testservers.Sample(t, 2, []look{
		{language: "en"},
		{language: "zh", dark: true},
		{language: "zh", phone: true},
		{language: "en", phone: true, dark: true},
	}) {
		t.Run(l.String(), func(t *testing.T) {
			v := b.open(t, shop.url, l)
			v.login("4" + itoa(int(time.Now().UnixNano()%1_000_000)))
			v.click("#buy")
			v.until("document.querySelector('#orders li') !== null")
			for _, view := range []string{"sale", "engine", "rush", "admin", "lab"} {
				v.view(view)
				assert.LessOrEqual(t, js[int](v, overhang), 0, "%s is wider than the screen at first sight", view)
				if view == "engine" {
					v.until("document.querySelectorAll('#lamps li').length === 10 && document.querySelector('#chart canvas') !== null")
					assert.LessOrEqual(t, js[int](v, "document.querySelector('#shards').scrollWidth - document.querySelector('#shards').clientWidth"), 0, "every shard is seen")
				}
				if view == "admin" {
					v.click("#audit")
					v.until("document.querySelectorAll('#report li').length === 10")
				}
				if view == "lab" {
					v.until("document.querySelectorAll('#experiments li').length > 5")
					v.click("#experiments button")
				}
				assert.LessOrEqual(t, js[int](v, overhang), 0, "%s is wider than the screen", view)
				assert.Empty(t, js[[]string](v, nameless), "%s has what a screen reader cannot name", view)
				assert.Empty(t, js[[]string](v, smallTargets), "%s has what a thumb cannot press", view)
				assert.Less(t, js[int](v, "document.querySelector('#picker').offsetHeight"), 170, "a long title pushes %s down", view)
				if l.language == "zh" {
					assert.Empty(t, js[[]string](v, english), "%s says that in English", view)
				}
				v.picture(view + "-" + l.String())
			}
		})
	}
}

// look is how a tab sees the page.
type look struct {
	language string // "en" or "zh"
	dark     bool
	phone    bool
	tablet   bool
}

func (l look) String() string {
	name := []string{l.language, "light", "desktop"}
	if l.dark {
		name[1] = "dark"
	}
	switch {
	case l.phone:
		name[2] = "phone"
	case l.tablet:
		name[2] = "tablet"
	}
	return strings.Join(name, "-")
}

// size is that of the window.
func (l look) size() (width, height int64) {
	switch {
	case l.phone:
		return 390, 844
	case l.tablet:
		return 768, 1024
	}
	return 1440, 900
}

// allWidths are visitors on a phone, a tablet and a large screen.
var allWidths = []look{
	{language: "en"},
	{language: "zh", phone: true, dark: true},
	{language: "en", tablet: true, dark: true},
	{language: "zh"},
	{language: "en", phone: true},
	{language: "zh", tablet: true},
}

// fits requires that nothing on the screen is cut off, without a name or in the other language. It takes a picture.
func (v *tab) fits(what string, l look) {
	v.t.Helper()
	assert.LessOrEqual(v.t, js[int](v, overhang), 0, "%s is wider than the screen", what)
	assert.Empty(v.t, js[[]string](v, nameless), "%s has what a screen reader cannot name", what)
	assert.Empty(v.t, js[[]string](v, smallTargets), "%s has what a thumb cannot press", what)
	if l.language == "zh" {
		assert.Empty(v.t, js[[]string](v, english), "%s says that in English", what)
	}
	v.picture(what + "-" + l.String())
}

// picture saves the screen if the flag asks for pictures.
func (v *tab) picture(name string) {
	v.t.Helper()
	if *pictures == "" {
		return
	}
	var png []byte
	v.do(chromedp.FullScreenshot(&png, 100))
	save(v.t, name, png)
}

// save writes a picture into the folder for pictures.
func save(t *testing.T, name string, png []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(*pictures, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(*pictures, name+".png"), png, 0o644))
}

// find types into a search.
func (v *tab) find(field, words string) {
	v.t.Helper()
	js[bool](v, fmt.Sprintf(`((e) => { e.value = %q; return e.dispatchEvent(new Event("input")) })(document.querySelector(%q))`, words, field))
}

// overhang is how much wider the page is than the screen. A phone's window grows with the
// page, and its client area does not.
const overhang = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

// nameless lists controls without a name.
const nameless = `[...document.querySelectorAll("button, a, input, [role=img], [role=progressbar]")]
	.filter((e) => e.checkVisibility() && !(e.labels?.length > 0) && !e.getAttribute("aria-label") && !e.textContent.trim()
		&& !e.querySelector("title")).map((e) => e.outerHTML.slice(0, 120))`

// smallTargets lists buttons that are lower than 36 pixels.
const smallTargets = `[...document.querySelectorAll("button, #views a")]
	.filter((e) => e.checkVisibility() && e.getBoundingClientRect().height < 36).map((e) => e.outerHTML.slice(0, 120))`

// english lists texts in English. It leaves out titles, which are the seller's, and quoted commands. It also leaves out
// "fencing token", which is the field's word in Chinese as well.
const english = `(() => {
	const all = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) {
		const e = texts.currentNode.parentElement, said = texts.currentNode.textContent.replace(/“.*?”|fencing token/g, "");
		if (e.checkVisibility() && !e.closest("code, .source, [lang=en], #coupons strong, #orders strong, #stage-title, #a-title") && /[a-z]{2,} [a-z]{2,}/.test(said)) all.push(said);
	}
	return all;
})()`
