package store

import (
	"context"
	"time"
)

// lockRows are the tables that have a row for every lock key ever taken, each with the
// condition under which a row may go. A counter is the time in microseconds at which it
// was last drawn from, or more: the next number of a key whose row is gone is the
// server's clock, and so larger.
var lockRows = []struct{ table, unused string }{
	{"lock_leases", "counter < ? AND expires_at <= UTC_TIMESTAMP(6)"},
	{"lock_fences", "fence < ?"},
}

// purgeStep is how many rows PurgeLocks reads, and at most deletes, in one statement.
const purgeStep = 1000

// PurgeLocks deletes the rows of lock keys that were last taken before a time, and returns
// how many it deleted. It goes through all rows in steps of 1000, and calls rest after
// each with the time that it took; an error of rest ends it. A key that is held stays.
//
// Fences go on growing, unless the database's clock is set back to before that time.
func (s *Store) PurgeLocks(ctx context.Context, before time.Time, rest func(took time.Duration) error) (int64, error) {
	if s.dialect != mysqlDialect {
		return 0, nil // the embedded database is gone at exit
	}
	var purged int64
	for _, rows := range lockRows {
		for after, more := "", true; more; {
			began := time.Now()
			names, err := s.lockNames(ctx, rows.table, after)
			if err != nil {
				return purged, err
			}
			if more = len(names) == purgeStep; len(names) == 0 {
				break
			}
			after = names[len(names)-1]
			n, err := s.purge(ctx, rows.table, rows.unused, before, names)
			purged += n
			if err == nil {
				err = rest(time.Since(began))
			}
			if err != nil {
				return purged, err
			}
		}
	}
	return purged, nil
}

// lockNames reads the next keys of a table, without a lock on their rows.
func (s *Store) lockNames(ctx context.Context, table, after string) (names []string, err error) {
	err = s.bulk.WithContext(ctx).Raw("SELECT name FROM "+table+" WHERE name > ? ORDER BY name LIMIT ?", after, purgeStep).Scan(&names).Error
	return names, wrap(err, "read %s", table)
}

// purge deletes those rows that are unused. It locks these rows one by one, by the primary
// key, so that an acquisition of another key never waits for it.
func (s *Store) purge(ctx context.Context, table, unused string, before time.Time, names []string) (n int64, err error) {
	err = s.withRetry(ctx, func(ctx context.Context) error {
		done := s.write.WithContext(ctx).Exec("DELETE FROM "+table+" WHERE name IN ? AND "+unused, names, before.UnixMicro())
		n = done.RowsAffected
		return classify(done.Error)
	})
	return n, wrap(err, "purge %s", table)
}
