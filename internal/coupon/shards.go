package coupon

// Home returns the shard that accounts for a user and is asked first. A unit that comes back goes there,
// whichever shard it was lent by.
func Home(userID int64, shards int) int {
	// The finalizer of splitmix64 (Steele, Lea, Flood 2014) spreads consecutive ids evenly over any
	// number of shards.
	x := uint64(userID) + 0x9e3779b97f4a7c15 //nolint:gosec // its bits, whatever they mean
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) % uint64(shards)) //nolint:gosec // below shards, which is above zero
}

// Share returns the part of the units that a shard gets: shares differ by one at most.
func Share(units int64, shards, shard int) int64 {
	share := units / int64(shards)
	if int64(shard) < units%int64(shards) {
		share++
	}
	return share
}
