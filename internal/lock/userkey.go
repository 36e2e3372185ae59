package lock

import (
	"strconv"
	"strings"
)

// UserKeyPrefix begins the key of every user's lock.
const UserKeyPrefix = "user:"

// UserKey returns the key of the lock under which the orders of a user are made.
func UserKey(id int64) string { return UserKeyPrefix + strconv.FormatInt(id, 10) }

// UserOf returns the id of the user whose lock the key names, and reports whether it
// names one.
func UserOf(key string) (id uint64, ok bool) {
	digits, ok := strings.CutPrefix(key, UserKeyPrefix)
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseUint(digits, 10, 64)
	return id, err == nil
}
