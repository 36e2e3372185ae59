package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

func TestOrder_PayCancelExpire_OnlyOneSucceeds(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	fleet := s.fleet(t)
	id := fleet[0].sale(t, 10, 1)
	paid := fleet[0].as(t, 1).buy(id, "").sold(t, http.StatusCreated)
	ended := fleet[0].as(t, 2).buy(id, "").sold(t, http.StatusCreated)
	assert.Equal(t, "pending", paid.Status)
	fleet[1].as(t, 2).buy(id, "").isProblem(t, http.StatusConflict, "limit_reached") // it remembers that for a moment

	for _, i := range fleet { // on any instance, and as often as one likes
		assert.Equal(t, "paid", i.as(t, 1).pay(paid.ID).sold(t, http.StatusOK).Status)
		assert.Equal(t, "cancelled", i.as(t, 2).cancel(ended.ID).sold(t, http.StatusOK).Status)
		i.as(t, 1).cancel(paid.ID).isProblem(t, http.StatusConflict, "conflict")
		i.as(t, 2).pay(ended.ID).isProblem(t, http.StatusConflict, "conflict")
	}
	fleet[1].as(t, 1).buy(id, "").isProblem(t, http.StatusConflict, "limit_reached")
	within(t, 10*time.Second, func() error { // the slot is free again, also where a refusal was remembered
		if r := fleet[1].as(t, 2).buy(id, ""); r.status != http.StatusCreated {
			return errors.New(r.body)
		}
		return nil
	})

	third := fleet[2].as(t, 3).buy(id, "").sold(t, http.StatusCreated)
	var wins sync.Map
	var both sync.WaitGroup
	gate := make(chan struct{})
	for n := range 12 {
		c := fleet[n%3].as(t, 3)
		both.Go(func() {
			<-gate
			r, _ := c.try(http.MethodPost, orders+"/"+third.ID+[]string{"/payment", "/cancellation"}[n%2], "")
			if r.status == http.StatusOK {
				wins.Store(r.sold(t, http.StatusOK).Status, true)
			}
		})
	}
	close(gate)
	both.Wait()
	won := 0
	wins.Range(func(any, any) bool { won++; return true })
	assert.Equal(t, 1, won, "of payment and cancellation")
	s.auditedTwice(t, fleet[0], id)
}

func TestOrder_Unpaid_ExpiresAndUnitIsSoldAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SECKILL_ORDER__PAYMENT_TIMEOUT=3s", "SECKILL_ORDER__BACKGROUND_INTERVAL=100ms")
	i := s.instance(t)
	id := i.sale(t, 2, 1)
	late := i.as(t, 1).buy(id, "late").sold(t, http.StatusCreated)
	prompt := i.as(t, 2).buy(id, "").sold(t, http.StatusCreated)
	i.as(t, 2).pay(prompt.ID).sold(t, http.StatusOK)
	next := i.as(t, 3)
	next.buy(id, "").isProblem(t, http.StatusConflict, "sold_out")
	within(t, 10*time.Second, func() error {
		if r := next.buy(id, "again and again"); r.status != http.StatusCreated {
			return fmt.Errorf("%d %s", r.status, r.body)
		}
		return nil
	})
	assert.Equal(t, "expired", i.as(t, 1).order(late.ID).sold(t, http.StatusOK).Status)
	assert.Equal(t, "paid", i.as(t, 2).order(prompt.ID).sold(t, http.StatusOK).Status)
	i.as(t, 1).pay(late.ID).isProblem(t, http.StatusConflict, "conflict")
	i.as(t, 1).cancel(late.ID).isProblem(t, http.StatusConflict, "conflict")
	assert.Equal(t, late.ID, i.as(t, 1).buy(id, "late").sold(t, http.StatusCreated).ID, "the same answer for the same key")
	s.auditedTwice(t, i, id)
}

func TestPayment_RacesExpiry_OneWinsForGood(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	s := newShop(t, "SECKILL_ORDER__PAYMENT_TIMEOUT=1s", "SECKILL_ORDER__BACKGROUND_INTERVAL=20ms")
	fleet := s.fleet(t)
	const users = 40
	id := fleet[0].sale(t, users, 1)
	var all sync.WaitGroup
	var paid sync.Map
	for user := int64(1); user <= users; user++ {
		o := fleet[user%3].as(t, user).buy(id, "").sold(t, http.StatusCreated)
		c := fleet[(user+1)%3].as(t, user)
		all.Go(func() {
			// Spread over the last moments and the first ones after.
			time.Sleep(time.Until(o.ExpiresAt.Add(time.Duration(user-users/2) * 2 * time.Millisecond)))
			if r, err := c.try(http.MethodPost, orders+"/"+o.ID+"/payment", ""); err == nil && r.status == http.StatusOK {
				paid.Store(o.ID, true)
			}
		})
	}
	all.Wait()
	within(t, 10*time.Second, func() error {
		var list struct {
			status map[string]int
		}
		list.status = map[string]int{}
		for user := int64(1); user <= users; user++ {
			body := fleet[0].as(t, user).do(http.MethodGet, orders, "").body
			for _, status := range []string{"pending", "paid", "expired"} {
				list.status[status] += strings.Count(body, `"status":"`+status+`"`)
			}
		}
		promised := 0
		paid.Range(func(any, any) bool { promised++; return true })
		if list.status["pending"] > 0 || list.status["paid"] != promised || list.status["paid"]+list.status["expired"] != users {
			return fmt.Errorf("%v, and %d payments were confirmed", list.status, promised)
		}
		return nil
	})
	s.auditedTwice(t, fleet[0], id)
}

func TestCoupon_ChangedElsewhere_IsSeenWithinASecond(t *testing.T) {
	testservers.OneOf(t, 2)
	s := newShop(t)
	fleet := s.fleet(t)
	here, there := fleet[0], fleet[1]
	id := here.sale(t, 1, 1)
	admin, path := here.asAdmin(t), "/api/v1/admin/coupons/"+id
	user := int64(100)
	soon := func(what string, status int, code string) {
		t.Helper()
		user++
		c, since := there.as(t, user), time.Now()
		for {
			asked := time.Now()
			r := c.buy(id, "")
			if r.status == status && r.code() == code {
				return
			}
			if asked.Sub(since) > time.Second {
				t.Fatalf("a second after %s: %d %s", what, r.status, r.body)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	// Both know the coupon from now on, and that it is sold out.
	sold := here.as(t, 1).buy(id, "").sold(t, http.StatusCreated)
	there.as(t, 2).buy(id, "").isProblem(t, http.StatusConflict, "sold_out")
	there.as(t, 2).buy(id, "").isProblem(t, http.StatusConflict, "sold_out")

	here.as(t, 1).cancel(sold.ID).sold(t, http.StatusOK)
	soon("a cancellation", http.StatusCreated, "")
	admin.do(http.MethodDelete, path+"/publication", "").sold(t, http.StatusOK)
	soon("a pause", http.StatusServiceUnavailable, "sale_paused")
	admin.do(http.MethodPatch, path, `{"stock":50}`).sold(t, http.StatusOK)
	admin.do(http.MethodPost, path+"/publication", "").sold(t, http.StatusOK)
	soon("a publication with more stock", http.StatusCreated, "")
	admin.do(http.MethodPatch, path, `{"price_cents":5}`).sold(t, http.StatusOK)
	within(t, time.Second, func() error {
		user++
		if r := there.as(t, user).buy(id, ""); !strings.Contains(r.body, `"price_cents":5,`) {
			return fmt.Errorf("%d %s", r.status, r.body)
		}
		return nil
	})
	admin.do(http.MethodPatch, path, `{"state":"ended"}`).sold(t, http.StatusOK)
	soon("the end", http.StatusGone, "ended")
	require.Equal(t, "ok", here.audit(t, id).status("I1"))
}
