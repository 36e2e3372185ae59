package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"example.com/seckill/internal/testing/testservers"
)

// press presses a key, on whatever has the focus.
func (v *tab) press(key string, options ...chromedp.KeyOption) {
	v.t.Helper()
	v.do(chromedp.KeyEvent(key, options...))
}

// hasFocus waits until the element has the focus.
func (v *tab) hasFocus(selector string) {
	v.t.Helper()
	v.until(fmt.Sprintf("document.activeElement?.matches(%q)", selector))
}

// tabTo goes on with the Tab key until the element has the focus, which has to be seen.
func (v *tab) tabTo(selector string, options ...chromedp.KeyOption) {
	v.t.Helper()
	for range 100 {
		v.press(kb.Tab, options...)
		if js[bool](v, fmt.Sprintf("document.activeElement?.matches(%q) ?? false", selector)) {
			assert.True(v.t, js[bool](v, `((s) => s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2)(getComputedStyle(document.activeElement))`),
				"nobody sees that %s has the focus", selector)
			return
		}
	}
	v.t.Fatalf("the Tab key does not come to %s", selector)
}

func TestPage_KeyboardOnly_BuyerBuys(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for n, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			first, second := shop.saleFrom(t, "Tea", 5, -time.Minute), shop.saleFrom(t, "Cake", 5, -time.Minute)
			v := b.open(t, shop.url, l)
			v.until(`document.querySelector('#coupons button[value="` + second + `"]') !== null`)
			v.tabTo(".skip")
			v.tabTo(`#views a[href="#sale"]`)
			v.tabTo(`#coupons button[value="` + first + `"]`)
			v.press(kb.Enter)
			v.says("#stage-title", "Tea")
			v.tabTo("#user") // what is in it is selected
			v.press(itoa(1200 + n))
			v.press(kb.Enter)
			v.says("#who-name", itoa(1200+n))
			v.hasFocus("#mine-title") // the form is gone, and the place in the page is not
			v.tabTo("#buy", chromedp.KeyModifiers(input.ModifierShift))
			v.press(kb.Enter)
			v.means("#outcome", "bought")
			v.hasFocus("#buy")
			v.means("#orders .badge", "pending")
			v.tabTo("#orders button")
			js[bool](v, `import("/orders.js").then((m) => m.loadOrders()).then(() => true)`) // as it does every few seconds
			v.hasFocus("#orders button")
			v.press(" ")
			v.means("#orders .badge", "paid")
			v.hasFocus("#mine-title")
			v.tabTo("#logout")
			v.press(kb.Enter)
			v.hasFocus("#mine-title")
			v.tabTo(`#views a[href="#lab"]`, chromedp.KeyModifiers(input.ModifierShift))
			v.press(kb.Enter)
			v.hasFocus("#main")
			v.tabTo("#experiments button")
			v.press(kb.Enter)
			v.hasFocus("#x-title")
		})
	}
}

// announces is how a screen reader is told of an element's changes, as the browser's
// tree for it has it.
func (v *tab) announces(selector string) (how string) {
	v.t.Helper()
	v.do(chromedp.ActionFunc(func(ctx context.Context) error {
		var nodes []*cdp.Node
		if err := chromedp.Nodes(selector, &nodes, chromedp.ByQuery).Do(ctx); err != nil {
			return err
		}
		all, err := accessibility.GetPartialAXTree().WithNodeID(nodes[0].NodeID).WithFetchRelatives(false).Do(ctx)
		if err != nil {
			return err
		}
		for _, p := range all[0].Properties {
			if p.Name == accessibility.PropertyNameLive {
				return json.Unmarshal(p.Value.Value, &how)
			}
		}
		return nil
	}))
	return how
}

func TestPage_StatusRegions_AreAnnounced(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	v := b.open(t, shop.url, visitors[0])
	assert.Equal(t, "assertive", v.announces("#outcome"))
	assert.Equal(t, "polite", v.announces("#notice"))
	v.view("admin")
	v.click("#demo-admin")
	v.means("#gate-note", "admin_who")
	assert.Equal(t, "polite", v.announces("#admin-note"))
	v.view("rush") // which a demonstration lets every visitor follow, as its administrator
	assert.Equal(t, "polite", v.announces("#rush-note"))
	v.view("lab")
	v.click("#experiments button")
	v.until("!document.querySelector('#experiment').hidden")
	assert.Equal(t, "polite", v.announces("#x-note"))
}
