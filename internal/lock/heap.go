package lock

import "time"

// byMoment is a heap of leases, the one that needs attention first on top.
type byMoment []*holding

func (h *holding) moment() time.Time {
	if h.renewAt.IsZero() || h.loseAt.Before(h.renewAt) {
		return h.loseAt
	}
	return h.renewAt
}

func (b byMoment) Len() int           { return len(b) }
func (b byMoment) Less(i, j int) bool { return b[i].moment().Before(b[j].moment()) }
func (b byMoment) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].index, b[j].index = i, j
}

func (b *byMoment) Push(x any) {
	h := x.(*holding)
	h.index = len(*b)
	*b = append(*b, h)
}

func (b *byMoment) Pop() any {
	old := *b
	h := old[len(old)-1]
	old[len(old)-1] = nil
	*b = old[:len(old)-1]
	h.index = -1
	return h
}
