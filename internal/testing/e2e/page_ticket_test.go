package e2e_test

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

func TestPage_BoughtUnit_GivesATicketToSave(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for n, l := range testservers.Sample(t, 1, allWidths) {
		t.Run(l.String(), func(t *testing.T) {
			id := shop.saleFrom(t, "Tea", 40, -time.Minute)
			for user := range 2 {
				shop.as(t, int64(4000+10*n+user)).buyInTheEnd(id)
			}
			v := b.open(t, shop.url+"?lang="+l.language+"#sale/"+id, l)
			v.login(itoa(4005 + 10*n))
			v.click("#buy")
			v.until(`document.querySelector("#ticket").checkVisibility() && document.querySelector("#ticket").className === "got"`)
			v.means("#ticket-lines strong", "ticket_no")
			assert.Regexp(t, `\b3\b.*\b40\b`, v.text("#ticket-lines strong"))
			v.means("#ticket-lines", "ticket_after")
			v.means("#ticket-lines", "ticket_took")
			v.says("#ticket-lines", "UNLOCK")
			v.fits("ticket", l)

			address := js[string](v, `import("/receipt.js").then((m) => m.picture())`)
			coded, is := strings.CutPrefix(address, "data:image/png;base64,")
			require.True(t, is, address[:min(60, len(address))])
			file, err := base64.StdEncoding.DecodeString(coded)
			require.NoError(t, err)
			drawn, err := png.Decode(bytes.NewReader(file))
			require.NoError(t, err)
			assert.Equal(t, 1080, drawn.Bounds().Dx())
			inks := map[any]bool{}
			for x := range drawn.Bounds().Dx() {
				inks[drawn.At(x, 180)] = true // a row through the title
			}
			assert.Greater(t, len(inks), 2, "the title is not drawn")
			if *pictures != "" {
				save(t, "ticket-picture-"+l.String(), file)
			}

			v.click("#orders button.quiet")
			v.means("#outcome", "cancelled_now")
			v.until(`!document.querySelector("#ticket").checkVisibility()`)
		})
	}
}
