package lock

import "time"

// deadlineHeap is a heap of leases, the one that needs attention first on top.
type deadlineHeap []*heldLease

func (h *heldLease) nextDeadline() time.Time {
	if h.renewAt.IsZero() || h.loseAt.Before(h.renewAt) {
		return h.loseAt
	}
	return h.renewAt
}

func (b deadlineHeap) Len() int           { return len(b) }
func (b deadlineHeap) Less(i, j int) bool { return b[i].nextDeadline().Before(b[j].nextDeadline()) }
func (b deadlineHeap) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].index, b[j].index = i, j
}

func (b *deadlineHeap) Push(x any) {
	h := x.(*heldLease)
	h.index = len(*b)
	*b = append(*b, h)
}

func (b *deadlineHeap) Pop() any {
	old := *b
	h := old[len(old)-1]
	old[len(old)-1] = nil
	*b = old[:len(old)-1]
	h.index = -1
	return h
}
