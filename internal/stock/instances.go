package stock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/seckill/internal/order"
)

// instancesKey holds the last report of every instance.
const instancesKey = "{fleet}:instances"

// heartbeatScript is the script that every instance runs once per heartbeatInterval.
var heartbeatScript = lua("heartbeat", 1)

// heartbeatInterval is the time between two reports of an instance. If an instance has not reported for heartbeatTTL
// (more than three intervals), Heartbeat does not return it.
const (
	heartbeatInterval = time.Second
	heartbeatTTL      = 3500 * time.Millisecond
)

// Instance is the last report of an instance.
type Instance struct {
	Name    string
	SoldOut []int64 // the coupons that the instance rejects without I/O, ordered by id
}

// Instances lists this instance and the others, for display. No decision may depend on the list, because an instance
// that is not listed may be alive.
type Instances struct {
	stock *Stock
	name  string

	mu    sync.Mutex
	peers []Instance
}

// NewInstances returns the Instances of the instance with this name. The name must be unique.
func NewInstances(s *Stock, name string) *Instances { return &Instances{stock: s, name: name} }

// Run sends heartbeats until ctx ends.
func (f *Instances) Run(ctx context.Context) {
	tick := time.NewTicker(heartbeatInterval)
	defer tick.Stop()
	for {
		seen, err := f.Heartbeat(ctx)
		if err != nil {
			seen = nil // Peers shows that no report was received
		}
		f.mu.Lock()
		f.peers = seen
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Heartbeat reports the coupons in the sold-out cache of this instance. It returns the reports of all instances,
// ordered by name. The error is order.ErrUnavailable.
func (f *Instances) Heartbeat(ctx context.Context) ([]Instance, error) {
	answer, err := heartbeatScript.Run(ctx, f.stock.client, []string{f.stock.prefix + instancesKey},
		f.name, join(f.stock.soldOut.list()), heartbeatTTL.Milliseconds()).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("%w: tell the fleet: %w", order.ErrUnavailable, err)
	}
	all := make([]Instance, 0, len(answer)/2)
	for i := 0; i+1 < len(answer); i += 2 {
		all = append(all, Instance{Name: answer[i], SoldOut: split(answer[i+1])})
	}
	slices.SortFunc(all, func(a, b Instance) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// Peers returns the reports that the last Heartbeat of Run received. If Redis is unavailable, there are none. The
// report of this instance is up to date.
func (f *Instances) Peers() []Instance {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Clone(f.peers)
	for i := range all {
		if all[i].Name == f.name {
			all[i].SoldOut = f.stock.soldOut.list()
		}
	}
	return all
}

// Name returns this instance's name.
func (f *Instances) Name() string { return f.name }

func join(ids []int64) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(words, ",")
}

// split parses a text of join. It leaves out every word that is not an id.
func split(text string) (ids []int64) {
	for word := range strings.SplitSeq(text, ",") {
		if id, err := strconv.ParseInt(word, 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
