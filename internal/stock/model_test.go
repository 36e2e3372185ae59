package stock

import (
	"errors"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// model is what the shards must do, in plain Go: one Redis without network.
type model struct {
	epoch    int64
	limit    int
	put      int64 // on sale
	raised   int64 // of them since the epoch began
	units    []int64
	holds    map[int64]*modelHold // by order
	open     map[int64]int        // by user
	bought   map[int64]int        // by user
	requests map[string]int64     // the order of each request
	sold     map[int64]order.Hold // confirmed and not returned, by order
	returned map[int64]bool
}

type modelHold struct {
	order.Hold
	lent     bool
	attempts []int64
}

func newModel(units int64, shards, limit int) *model {
	m := &model{limit: limit, put: units, units: make([]int64, shards), bought: map[int64]int{}, sold: map[int64]order.Hold{}}
	m.reload(1, units)
	return m
}

// reload begins an epoch with so many units; who has bought is not forgotten.
func (m *model) reload(epoch, units int64) {
	m.epoch, m.raised, m.holds, m.open = epoch, 0, map[int64]*modelHold{}, map[int64]int{}
	m.requests, m.returned = map[string]int64{}, map[int64]bool{}
	for shard := range m.units {
		m.units[shard] = coupon.Share(units, len(m.units), shard)
	}
}

// raise is Raise: so many were added in all since the epoch began.
func (m *model) raise(raised int64) {
	if raised <= m.raised {
		return
	}
	for shard := range m.units {
		m.units[shard] += coupon.Share(raised, len(m.units), shard) - coupon.Share(m.raised, len(m.units), shard)
	}
	m.put, m.raised = m.put+raised-m.raised, raised
}

func (m *model) reserve(c order.ReserveRequest) (order.Hold, error) {
	if c.Epoch != m.epoch {
		return order.Hold{}, order.ErrStaleEpoch
	}
	home := coupon.Home(c.UserID, len(m.units))
	if id, known := m.requests[c.RequestID]; known {
		h, open := m.holds[id]
		switch {
		case !open:
			return order.Hold{}, order.ErrDuplicate
		case h.lent:
			return order.Hold{}, order.ErrBusy
		case !slices.Contains(h.attempts, c.OrderID):
			h.attempts = append(h.attempts, c.OrderID)
		}
		return hold(c, id, home), nil
	}
	switch {
	case m.bought[c.UserID] >= m.limit:
		return order.Hold{}, order.ErrLimitReached
	case m.bought[c.UserID]+m.open[c.UserID] >= m.limit:
		return order.Hold{}, order.ErrBusy
	}
	from := home
	if m.units[home] == 0 {
		for shard, units := range m.units {
			if units > m.units[from] {
				from = shard
			}
		}
	}
	if m.units[from] == 0 {
		return order.Hold{}, coupon.ErrSoldOut
	}
	h := hold(c, c.OrderID, from)
	m.units[from]--
	m.open[c.UserID]++
	m.requests[c.RequestID] = c.OrderID
	m.holds[c.OrderID] = &modelHold{Hold: h, lent: from != home, attempts: []int64{c.OrderID}}
	return h, nil
}

func (m *model) confirm(h order.Hold) {
	found, open := m.holds[h.OrderID]
	if !open || h.Epoch != m.epoch {
		return
	}
	delete(m.holds, h.OrderID)
	m.open[h.UserID]--
	m.bought[h.UserID]++
	m.sold[h.OrderID] = found.Hold
}

func (m *model) release(h order.Hold) {
	found, open := m.holds[h.OrderID]
	if !open || h.Epoch != m.epoch {
		return
	}
	if h.Attempt != 0 {
		i := slices.Index(found.attempts, h.Attempt)
		if i < 0 {
			return
		}
		if found.attempts = slices.Delete(found.attempts, i, i+1); len(found.attempts) > 0 {
			return
		}
	}
	delete(m.holds, h.OrderID)
	delete(m.requests, found.RequestID)
	m.open[h.UserID]--
	m.units[found.Shard]++
}

// restock is Restock; the database has seen to it that the order was sold.
func (m *model) restock(r order.Restock) {
	if r.Epoch < m.epoch || m.returned[r.OrderID] {
		return
	}
	m.returned[r.OrderID] = true
	m.units[coupon.Home(r.UserID, len(m.units))]++
	m.bought[r.UserID]--
	delete(m.sold, r.OrderID)
}

// total is what I4 says of the model itself: T = R + h + A.
func (m *model) total() int64 {
	sum := int64(len(m.holds) + len(m.sold))
	for _, units := range m.units {
		sum += units
	}
	return sum
}

// counts gives the hash that the shard must have: users above zero.
func (m *model) counts(of map[int64]int, shard int) map[string]string {
	all := map[string]string{}
	for user, n := range of {
		if n > 0 && coupon.Home(user, len(m.units)) == shard {
			all[strconv.FormatInt(user, 10)] = strconv.Itoa(n)
		}
	}
	return all
}

// sameOutcome reports whether two refusals are the same one, or both none.
func sameOutcome(t *rapid.T, want, got error) {
	if want == nil && got == nil || want != nil && errors.Is(got, want) {
		return
	}
	t.Fatalf("refused with %v and not with %v", got, want)
}
