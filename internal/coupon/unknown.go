package coupon

import "time"

// unknown is what a Cache knows of ids that no coupon has, so that a flood of made-up ids is
// refused from memory. Ids are given in ascending order, so most of them are above the newest;
// the others are gaps. The Cache's mu guards it.
type unknown struct {
	newest   int64     // the largest id there is
	newestAt time.Time // and when that was read
	gaps     map[int64]time.Time
}

// maxGaps bounds the gaps that are remembered.
const maxGaps = 10_000

// has reports whether a read after since has found that no coupon has this id.
func (u *unknown) has(id int64, since time.Time) bool {
	if id > u.newest {
		return u.newestAt.After(since)
	}
	return u.gaps[id].After(since)
}

// put records that a read has found no coupon with this id, when it began, and the newest id.
func (u *unknown) put(id, newest int64, began time.Time) {
	u.newest, u.newestAt = max(u.newest, newest), began
	if id > u.newest {
		return
	}
	if len(u.gaps) >= maxGaps {
		clear(u.gaps)
	}
	u.gaps[id] = began
}

// forget drops what is known of the id: a coupon may have it now.
func (u *unknown) forget(id int64) {
	u.newest = max(u.newest, id)
	delete(u.gaps, id)
}
