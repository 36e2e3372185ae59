package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// All prints a report of each coupon and reports whether all are clean. One that cannot be audited is an
// error, and the others are audited all the same.
func All(
	ctx context.Context, out io.Writer, ids []int64, audit func(ctx context.Context, id int64) (Report, error), asJSON bool,
) (clean bool, err error) {
	clean = true
	for _, id := range ids {
		report, failed := audit(ctx, id)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("coupon %d was not audited: %w", id, failed))
			if ctx.Err() != nil {
				return false, err
			}
			continue
		}
		clean = clean && report.Clean
		if err := report.Print(out, asJSON); err != nil {
			return false, err
		}
	}
	return clean && err == nil, err
}
