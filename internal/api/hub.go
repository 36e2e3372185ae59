package api

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"example.com/seckill/internal/coupon"
)

// hub polls the coupons that are watched: one poll for each coupon, however many streams watch it, from the first that
// joins to the tick after the last has left. A client that opens and closes streams starts one poll per tick.
type hub struct {
	coupons Coupons
	stock   StockReader
	engine  SaleStatus
	unpaid  UnpaidOrders
	now     func() time.Time
	every   time.Duration
	budget  time.Duration // of one poll
	max     int           // streams
	maxEach int           // streams of one address; 0 is no limit
	traces  Traces        // optional
	counts  requestCounts

	mu      sync.Mutex
	feeds   map[int64]*feed
	streams int
	from    map[string]int // streams by address
	closed  bool
	polls   sync.WaitGroup
}

// feed is one coupon's poll and its subscribers. The hub's mu guards it.
type feed struct {
	stop context.CancelFunc
	subs map[chan []byte]struct{}
	last []byte
}

const (
	// pollEvery is the time between two events.
	pollEvery = 500 * time.Millisecond
	// restsFor is the number of polls that are skipped for an ended sale, which only an
	// administrator can change.
	restsFor = 10
	// publishBurst is how many streams get an event at once.
	publishBurst = 64
)

func newHub(p Deps, o Options) *hub {
	return &hub{
		coupons: p.Coupons, stock: p.Stock, engine: p.SaleStatus, unpaid: p.Unpaid, traces: p.Traces,
		now: o.Now, every: pollEvery, budget: o.RequestTimeout,
		counts: requestCounts{now: o.Now},
		max:    o.MaxStreams, maxEach: o.MaxStreamsPerAddress, feeds: map[int64]*feed{}, from: map[string]int{},
	}
}

// join returns the coupon's events for a client at the address, and a function to leave with. The
// channel is closed with the hub. A slow reader misses events and gets the newest.
func (h *hub) join(id int64, address string) (<-chan []byte, func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, nil, errClosing
	case h.streams >= h.max:
		return nil, nil, errOverloaded
	case h.maxEach > 0 && h.from[address] >= h.maxEach:
		return nil, nil, errTooManyStreams
	}
	h.streams++
	h.from[address]++
	f := h.feeds[id]
	if f == nil {
		ctx, stop := context.WithCancel(context.Background())
		f = &feed{stop: stop, subs: map[chan []byte]struct{}{}}
		h.feeds[id] = f
		h.polls.Go(func() { h.run(ctx, id, f) })
	}
	sub := make(chan []byte, 1)
	f.subs[sub] = struct{}{}
	if f.last != nil {
		sub <- f.last
	}
	return sub, sync.OnceFunc(func() { h.leave(f, sub, address) }), nil
}

func (h *hub) leave(f *feed, sub chan []byte, address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams--
	if h.from[address]--; h.from[address] == 0 {
		delete(h.from, address)
	}
	delete(f.subs, sub)
}

// abandoned reports whether no stream watches the feed, and removes such a feed.
func (h *hub) abandoned(id int64, f *feed) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(f.subs) > 0 {
		return false
	}
	delete(h.feeds, id)
	return true
}

// run publishes an event every so often until it is stopped or a tick finds no stream.
func (h *hub) run(ctx context.Context, id int64, f *feed) {
	defer f.stop()
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	var pace rateMeter
	for {
		event, ended := h.poll(ctx, id, &pace)
		if ctx.Err() != nil {
			return
		}
		h.publish(ctx, f, event)
		rests := 1
		if ended {
			rests = restsFor
		}
		for range rests {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if h.abandoned(id, f) {
				return
			}
		}
	}
}

// publish replaces an event that no subscriber has fetched yet. Many subscribers get it burst by burst,
// the last after half of the time between two events: the writes to all of them at once would be in the
// way of every request of that moment.
func (h *hub) publish(ctx context.Context, f *feed, event []byte) {
	h.mu.Lock()
	f.last = event
	all := slices.Collect(maps.Keys(f.subs))
	h.mu.Unlock()
	bursts := (len(all) + publishBurst - 1) / publishBurst
	for n, subs := range slices.Collect(slices.Chunk(all, publishBurst)) {
		if n > 0 {
			select {
			case <-time.After(h.every / 2 / time.Duration(bursts)):
			case <-ctx.Done():
				return
			}
		}
		h.publishTo(f, subs, event)
	}
}

// publishTo sends an event to those subscribers that have not left.
func (h *hub) publishTo(f *feed, subs []chan []byte, event []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	for _, sub := range subs {
		if _, there := f.subs[sub]; !there {
			continue
		}
		select {
		case <-sub:
		default:
		}
		sub <- event
	}
}

// poll reads the sale once, and reports whether it has ended. That a store is unavailable is an
// event too, and not the end.
func (h *hub) poll(ctx context.Context, id int64, p *rateMeter) (event []byte, ended bool) {
	ctx, cancel := context.WithTimeout(ctx, h.budget)
	defer cancel()
	r := reading{counts: &h.counts}
	var err error
	if r.coupon, err = h.coupons.Get(ctx, id); err == nil {
		ended = r.coupon.StateAt(h.now()) == coupon.Ended
		err = h.read(ctx, &r, !ended)
	}
	if err != nil {
		return trouble(id, problemOf(err).code, h.now()), false
	}
	return eventText("sale", r.event(p, h.now())), ended
}

// maxReads is how often the hub reads a sale until ledger and shards agree.
const maxReads = 4

// read reads the ledger, and then the shards. If a unit came back to a shard between the two, it reads both again.
func (h *hub) read(ctx context.Context, r *reading, shards bool) (err error) {
	id := r.coupon.ID
	for range maxReads {
		if r.ledger, err = h.engine.Ledger(ctx, id); err != nil || r.coupon.Shards == 0 || !shards {
			return err
		}
		if r.shards, err = h.stock.Remaining(ctx, id, r.coupon.Shards); err != nil {
			return err
		}
		if sum(r.shards) <= r.ledger.Unsold {
			break
		}
	}
	if r.pulse, err = h.engine.LiveStats(ctx, r.coupon); err != nil {
		return err
	}
	r.pulse.SoldOut = h.soldOut(id, r.shards)
	if h.traces != nil {
		r.latest = stepsOf(h.traces.Latest(id))
	}
	return nil
}

// watched reports whether a stream is open.
func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams > 0
}

// soldOut returns what is known of a coupon without a unit in any shard; nil if there is one, or nothing is known.
func (h *hub) soldOut(id int64, left []int64) *SoldOut {
	if h.unpaid == nil || slices.ContainsFunc(left, func(n int64) bool { return n > 0 }) {
		return nil
	}
	return h.unpaid.Unpaid(id)
}

// close ends every stream and returns when no poll is running.
func (h *hub) close() {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		for _, f := range h.feeds {
			f.stop()
			for sub := range f.subs {
				close(sub)
			}
		}
	}
	h.mu.Unlock()
	h.polls.Wait()
}
