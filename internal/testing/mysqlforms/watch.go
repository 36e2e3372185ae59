package mysqlforms

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// watch looks, as long as anything is held, whether the server still knows of it. It
// asks for all at once on another connection: a question on the connection of a
// holder would count as a renewal, and would wait behind one. That connection is of
// another pool, because holders and waiters may have all of theirs.
func (n *Named) watch() {
	tick := time.NewTicker(n.o.Watch)
	defer tick.Stop()
	for range tick.C {
		n.mu.Lock()
		if len(n.held) == 0 {
			n.watching = false
			n.mu.Unlock()
			return
		}
		var look []holder
		var at []*pinned
		for h, p := range n.held {
			look, at = append(look, h), append(at, p)
		}
		n.mu.Unlock()
		lost, err := n.lost(at)
		if err != nil {
			continue // the renewals will tell
		}
		n.mu.Lock()
		for i, h := range look {
			if lost[i] && n.held[h] == at[i] {
				n.drop(h)
			}
		}
		n.mu.Unlock()
	}
}

// lost asks which session has each name.
func (n *Named) lost(at []*pinned) ([]bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	args := make([]any, 0, 3*len(at))
	for i, p := range at {
		args = append(args, i, p.name, p.id)
	}
	const one = "SELECT ?, COALESCE(IS_USED_LOCK(?) = ?, FALSE)"
	query := one + strings.Repeat(" UNION ALL "+one, len(at)-1) //nolint:gosec // constants, and as many as are held
	rows, err := n.looks.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("mysqlforms: watch: %w", err)
	}
	defer func() { _ = rows.Close() }() // its error is that of Err
	lost := make([]bool, len(at))
	for rows.Next() {
		var i int
		var own bool
		if err := rows.Scan(&i, &own); err != nil {
			return nil, fmt.Errorf("mysqlforms: watch: %w", err)
		}
		lost[i] = !own
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("mysqlforms: watch: %w", err)
	}
	return lost, nil
}
