package e2e_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"example.com/seckill/internal/testing/testservers"
)

// TestPage_Tour_MakesThePictures is a kept demonstration as it is seen by somebody who opens its address at
// once. It makes the pictures of README.md and docs/TOUR.md, and then takes the tour in Chinese:
//
//	go test ./internal/testing/e2e -run TestPage_Tour_MakesThePictures -pictures $PWD/internal/api/pictures
func TestPage_Tour_MakesThePictures(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	b, looks := theBrowser(t), []look{{language: "en"}}
	if *pictures != "" {
		looks = append(looks, look{language: "zh", dark: true})
	}
	stock := 160 // sold in as many quarters of a second
	if *pictures != "" {
		stock = 240
	}
	for _, l := range looks {
		t.Run(l.language, func(t *testing.T) {
			p := launchBuild(t, plain, nil, nil, "demo", "--keep-serving", "--stock", itoa(stock), "--shards", "12", "--users", itoa(2*stock), "--rate", "24",
				"--starts-in", "20s") // a browser is slow to open on a busy machine
			v := b.open(t, p.page(t), l)
			v.means("#countdown", "starts")
			v.says("#left", itoa(stock))
			v.login("20260") // the crowd has smaller numbers

			v.until(number("#left") + " < " + itoa(stock*4/5))
			v.click("#buy")
			v.means("#outcome", "bought")
			v.tour("sale-" + l.language)
			v.view("engine")
			v.until(number("#e-lent") + " > 0")
			v.tour("engine-" + l.language)
			v.until(number("#e-left") + " === 0")
			within(t, busy, func() error {
				if !regexp.MustCompile(`(?s)AUDIT CLEAN.*the page and the API`).MatchString(p.out.String()) {
					return fmt.Errorf("it says %q", p.out.String())
				}
				return nil
			})

			v.view("rush")
			for field, value := range map[string]string{
				"users": itoa(2 * stock), "rate": "60", "stock": itoa(stock), "pay": "30", "cancel": "20",
			} {
				v.fill("#rush-"+field, value)
			}
			v.click("#rush-start")
			v.until(number("#r-too_late") + " > " + itoa(stock/4))
			v.tour("rush-" + l.language)
			v.means("#rush-report .verdict", "clean")

			v.view("admin")
			v.click("#audit")
			v.says("#admin-note", v.word("clean"))
			v.tour("admin-" + l.language)

			v.view("lab")
			v.click(`#experiments button[value="unlock-before-commit"]`)
			v.click("#x-run")
			v.means("#x-state", "as_expected")
			v.click("#x-all")
			v.until("document.querySelectorAll('#x-cases .heads').length === 2")
			v.tour("lab-" + l.language)

			p.signal(t, syscall.SIGINT)
			assert.Zero(t, p.await(t, busy), "exit code of a demonstration that was ended by Ctrl-C")
		})
	}
}

// page is the address that a demonstration tells first of all.
func (p *process) page(t *testing.T) (url string) {
	t.Helper()
	within(t, busy, func() error {
		if url = regexp.MustCompile(`(?m)^http://[0-9.:]+`).FindString(p.out.String()); url == "" {
			return fmt.Errorf("it says %q", p.out.String())
		}
		return nil
	})
	return url
}

// number is an expression for what an element says, as a number.
func number(selector string) string {
	return fmt.Sprintf(`Number(document.querySelector(%q).textContent.replace(/[^0-9]/g, "") || NaN)`, selector)
}

// tour saves a small picture of the page, down to where a document ends it.
func (v *tab) tour(name string) {
	v.t.Helper()
	if *pictures == "" {
		return
	}
	const width, most = 1280, 1250
	v.do(chromedp.ActionFunc(func(ctx context.Context) error {
		var height float64
		if err := chromedp.Evaluate(`scrollTo(0, 0); document.querySelector("main").getBoundingClientRect().bottom + 24`, &height).Do(ctx); err != nil {
			return err
		}
		picture, err := page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatWebp).WithQuality(66).
			WithCaptureBeyondViewport(true).WithClip(&page.Viewport{Width: width, Height: math.Min(math.Ceil(height), most), Scale: 1}).Do(ctx)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(*pictures, name+".webp"), picture, 0o644)
	}))
}
