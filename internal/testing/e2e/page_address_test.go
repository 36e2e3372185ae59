package e2e_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPage_CouponAddress_SurvivesBackAndReload(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	tea, cake := shop.saleFrom(t, "Tea", 5, -time.Minute), shop.saleFrom(t, "Cake", 5, -time.Minute)
	v := b.open(t, shop.url+"#sale/"+cake, visitors[0])
	v.says("#stage-title", "Cake")
	v.click(`#coupons button[value="` + tea + `"]`)
	v.says("#stage-title", "Tea")
	v.until(`location.hash === "#sale/` + tea + `"`)
	v.view("rush")
	v.until(`location.hash === "#rush/` + tea + `"`) // it can be sent
	v.do(chromedp.Reload())
	v.until(`document.querySelector("#coupons [aria-pressed=true]")?.value === "` + tea + `"`)
	v.until(`document.querySelector("#view-rush").checkVisibility()`)
	v.do(chromedp.NavigateBack())
	v.until(`location.hash === "#sale/` + tea + `"`)
	v.do(chromedp.NavigateBack())
	v.says("#stage-title", "Cake")
	v.do(chromedp.NavigateForward())
	v.says("#stage-title", "Tea")

	js[bool](v, `(location.hash = "#sale/999", true)`)
	v.means("#notice", "not_found")
	v.says("#stage-title", "Tea")
	js[bool](v, `(location.hash = "#engine/%E0%A4%A", true)`) // an address that cannot be decoded
	v.until(`document.querySelector("#view-engine").checkVisibility()`)
	assert.Empty(t, v.text("#failed"))
}

func TestPage_OneCoupon_ShowsNoCards(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	v := b.open(t, shop.url, visitors[0])
	v.says("#left", "1,000")
	assert.False(t, js[bool](v, `document.querySelector("#picker").checkVisibility()`))
	shop.saleFrom(t, "Tea", 5, -time.Minute)
	js[bool](v, `document.dispatchEvent(new Event("visibilitychange"))`)
	v.until(`document.querySelector("#picker").checkVisibility()`)
}

func TestPage_UnknownAddress_IsAPageInBothLanguages(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	v := b.visit(t, shop.url+"/nope", visitors[0])
	v.fails = true // the console names the status
	v.says("#missing", "There is no page at this address")
	assert.Regexp(t, `\p{Han}{4}`, v.text("#missing [lang=zh-Hans]"))
	assert.LessOrEqual(t, js[int](v, overhang), 0)
	v.picture("missing")
	v.click("#missing a")
	v.says("#left", "1,000")
}

// A visitor of an idle demonstration sends a crowd, and another one to a new sale when the first is sold out.
func TestPage_CrowdButton_SendsPeopleAgain(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	v := b.open(t, shop.url, visitors[1])
	v.means("#crowd-button", "send_crowd")
	v.click("#crowd-button")
	v.until(number("#c-bought") + " > 0")
	v.until(`!document.querySelector("#crowd-call").checkVisibility()`)
	v.means("#stage-state", "gone")
	v.until(`document.querySelector("#moment").checkVisibility()`)
	v.means("#crowd-button", "again_crowd")
	v.until(`document.querySelector("#crowd-call").checkVisibility()`) // the load generator has ended
	v.click("#crowd-button")
	v.says("#left-after", "500")
	v.until(`document.querySelector("#picker").checkVisibility() && /#sale.[0-9]+/.test(location.hash)`)
	v.until(number("#c-bought") + " > 0")
	require.Empty(t, v.text("#notice"))
}
