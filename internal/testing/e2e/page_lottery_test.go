package e2e_test

import (
	"errors"
	"testing"
	"time"

	"example.com/seckill/internal/testing/testservers"
)

// A buyer has a ticket first, and is told how it was drawn.
func TestPage_LotteryEntrants_SeeTicketThenDraw(t *testing.T) {
	t.Parallel()
	b := theBrowser(t)
	shop := embeddedShop(t, "SECKILL_ORDER__MODE=queue", "SECKILL_ORDER__QUEUE_ORDER=lottery", "SECKILL_ORDER__LOTTERY_WINDOW=15s")
	for _, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			first, second := b.open(t, shop.url+"?lang="+l.language, l), b.open(t, shop.url+"?lang="+l.language, l)
			id := shop.saleFrom(t, "Lottery", 1, 0)
			for n, v := range []*tab{first, second} {
				v.choose(id)
				v.login(itoa(1700 + n))
				v.click("#buy")
				v.until(`document.querySelector("#outcome").className === "wait" && /\d/.test(document.querySelector("#outcome").textContent)`)
				v.fits("ticket", l)
			}
			time.Sleep(time.Until(shop.draw(t, id).DrawsAt))
			within(t, busy, func() error { // one of them has it
				is := first.text("#outcome") == first.word("not_drawn")
				if other := second.text("#outcome") == second.word("not_drawn"); is == other {
					return errors.New("nobody, or both, are told that they were not drawn")
				}
				return nil
			})
			loser := first
			if first.text("#outcome") != first.word("not_drawn") {
				loser = second
			}
			loser.fits("not-drawn", l)
		})
	}
}
