package e2e_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIdempotencyKey_AnythingHappened_IsTheSameOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	fleet := s.fleet(t)
	here, there := fleet[0], fleet[1]
	id, other := here.sale(t, 3, 1), here.sale(t, 3, 1)
	first := here.as(t, 1).buy(id, "my key").sold(t, http.StatusCreated)
	same := func(when string) {
		t.Helper()
		for _, i := range fleet {
			again := i.as(t, 1).buy(id, "my key")
			assert.Equal(t, first.ID, again.sold(t, http.StatusCreated).ID, when)
			assert.Equal(t, orders+"/"+first.ID, again.header.Get("Location"), when)
		}
	}
	same("at once")
	here.as(t, 1).buy(other, "my key").isProblem(t, http.StatusUnprocessableEntity, "idempotency_key_reused")
	there.as(t, 1).buy(id, "another key").isProblem(t, http.StatusConflict, "limit_reached")
	there.as(t, 1).buy(id, "MY KEY").isProblem(t, http.StatusConflict, "limit_reached")
	theirs := there.as(t, 2).buy(id, "my key").sold(t, http.StatusCreated)
	assert.NotEqual(t, first.ID, theirs.ID, "another user's key is another key")
	here.as(t, 3).buy(id, "").sold(t, http.StatusCreated)

	here.as(t, 4).buy(id, "").isProblem(t, http.StatusConflict, "sold_out")
	there.as(t, 4).buy(id, "late").isProblem(t, http.StatusConflict, "sold_out")
	same("after it was sold out")

	require.NoError(t, s.redis.FlushAll(t.Context()).Err())
	same("after Redis lost its data")
	repaired := there.asAdmin(t).do(http.MethodPost, "/api/v1/admin/coupons/"+id+"/repair", "")
	require.Equal(t, http.StatusOK, repaired.status, repaired.body)
	same("after the shards were mended")
	assert.Equal(t, 3, s.auditedTwice(t, here, id).Live)

	there.as(t, 2).cancel(theirs.ID).sold(t, http.StatusOK)
	again := here.as(t, 2).buy(id, "my key").sold(t, http.StatusCreated)
	assert.Equal(t, theirs.ID, again.ID, "a cancelled order is still what the key has led to")
	assert.Equal(t, "cancelled", again.Status)

	here.asAdmin(t).do(http.MethodPatch, "/api/v1/admin/coupons/"+id, `{"state":"ended"}`).sold(t, http.StatusOK)
	here.as(t, 5).buy(id, "").isProblem(t, http.StatusGone, "ended")
	same("after the sale has ended")
}

func TestIdempotencyKey_SentManyTimesAtOnce_IsOneOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	fleet := s.fleet(t)
	id := fleet[0].sale(t, 50, 3)
	for user := int64(1); user <= 5; user++ {
		var mu sync.Mutex
		ids := map[string]bool{}
		gate := make(chan struct{})
		var all sync.WaitGroup
		for n := range 15 {
			c := fleet[n%3].as(t, user)
			all.Go(func() {
				<-gate
				// Busy is an answer that may be asked again; nothing else may come.
				for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
					r, err := c.try(http.MethodPost, "/api/v1/coupons/"+id+"/orders", "", "Idempotency-Key", "one")
					if err == nil && r.code() == "request_in_progress" {
						continue
					}
					name := fmt.Sprint(r.status, r.code(), err)
					if r.status == http.StatusCreated {
						name = r.sold(t, http.StatusCreated).ID
					}
					mu.Lock()
					ids[name] = true
					mu.Unlock()
					return
				}
			})
		}
		close(gate)
		all.Wait()
		assert.Len(t, ids, 1, "user %d was answered %v", user, ids)
	}
	assert.Equal(t, 5, s.auditedTwice(t, fleet[0], id).Live)
}
