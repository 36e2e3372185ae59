package e2e_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/rush"
)

func TestCrash_InstanceDiesOrStops_LosesNothing(t *testing.T) {
	t.Parallel()
	type way struct {
		name, setting string
		harm          func(t *testing.T, i *instance)
	}
	var ways []way
	for _, setting := range []string{"SECKILL_ORDER__BATCH_SIZE=256", "SECKILL_ORDER__BATCH_SIZE=1", "SECKILL_ORDER__MODE=queue"} {
		ways = append(ways, way{"kill -9 and a restart", setting, func(t *testing.T, i *instance) {
			i.kill(t)
			i.restart(t)
		}}, way{"SIGSTOP for longer than the lease, then SIGCONT", setting, func(t *testing.T, i *instance) {
			i.pause(t)
			time.Sleep(2500 * time.Millisecond) // the fault itself: two and a half leases
			i.resume(t)
		}})
	}
	for _, w := range testservers.Sample(t, 2, ways) {
		t.Run(w.setting+", "+w.name, func(t *testing.T) {
			s := newShop(t, append(impatient(), w.setting)...)
			fleet := s.fleet(t)
			const stock = 400
			id := fleet[1].sale(t, stock, 1)

			watch := fleet[1].asAdmin(t) // a look by others may be half a second old
			admin := token(t, 1, "admin")
			done := make(chan []rush.Report, 1)
			go func() {
				done <- rushEach(t, fleet, rush.Options{
					Users: 500, Coupon: id, PayPercent: 10, CancelPercent: 10, DoubleTapEvery: 10,
					AdminToken: admin, Concurrency: 24, Timeout: 4 * time.Second,
				})
			}()
			within(t, 30*time.Second, func() error {
				if left, err := watch.left(id); err != nil || left > stock*8/10 {
					return fmt.Errorf("the rush did not begin: %d left, %w", left, err)
				}
				return nil
			})
			w.harm(t, fleet[0])
			harmed := time.Now()
			sum := total(<-done) // nothing that was acknowledged is missing, or crowd has said so
			require.Positive(t, sum.Accepted)

			fleet[1].audited(t, id, 30*time.Second-time.Since(harmed))
			mopUp(t, fleet[0], id, 1_000_000)
			got := s.auditedTwice(t, fleet[0], id)
			assert.Equal(t, stock, got.Live)
			assert.Zero(t, got.Oversold+got.Duplicates)
			s.noHoldIsLeft(t)
		})
	}
}

// What is open when an instance dies must not wait for its return.
func TestCrash_InstanceDead_OthersFinishItsOrders(t *testing.T) {
	t.Parallel()
	s := newShop(t, impatient()...)
	fleet := s.fleet(t)
	const stock = 400
	id := fleet[1].sale(t, stock, 1)
	done := make(chan []rush.Report, 1)
	go func() {
		done <- rushEach(t, fleet[1:], rush.Options{Users: 400, Coupon: id, Concurrency: 16, FirstUser: 5000})
	}()
	buyers := fleet[0]
	stopped := make(chan struct{})
	go func() { // its clients never come back: what it had open, only the others can end
		defer close(stopped)
		_, _ = rush.Run(t.Context(), rush.Options{
			URL: buyers.url, Coupon: id, Users: 400, Concurrency: 32, Token: rush.Signed(secret), Timeout: 2 * time.Second, Verify: -1,
		})
	}()
	within(t, 30*time.Second, func() error {
		if s.holds(t) < 4 {
			return errors.New("nothing is open")
		}
		return nil
	})
	buyers.kill(t)
	killed := time.Now()
	<-done
	<-stopped
	fleet[1].audited(t, id, 30*time.Second-time.Since(killed))
	s.noHoldIsLeft(t)
	mopUp(t, fleet[2], id, 1_000_000)
	assert.Equal(t, stock, s.auditedTwice(t, fleet[2], id).Live)
}

// The load generator does not go on against a server that is gone.
func TestRush_ServerIsKilled_GivesUpWithExitCode1(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	i := s.instance(t)
	id := i.sale(t, 1_000_000, 1)
	p := launch(t, []string{"SECKILL_AUTH__SECRET=" + secret},
		"rush", "--url", i.url, "--coupon", id, "--users", "200000", "--timeout", "2s")
	within(t, 30*time.Second, func() error {
		if left := i.left(t, id); left > 1_000_000-100 {
			return fmt.Errorf("%d are left", left)
		}
		return nil
	})
	i.kill(t)
	p.stopping = true // by itself
	assert.Equal(t, 1, p.await(t, busy))
	assert.Contains(t, p.out.String(), "Given up: the server stopped answering: every request failed for 5s")
	assert.Contains(t, p.err.String(), "given up: the server stopped answering")
}
