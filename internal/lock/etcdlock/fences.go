package etcdlock

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// AdvanceFence makes every later fence larger than above, by a number that is added to
// all of them. A revision cannot be lifted; this can. The number is never made
// smaller. A call that repeats an earlier acquisition across an AdvanceFence is answered
// with the larger fence.
func (b *Backend) AdvanceFence(ctx context.Context, _ string, above uint64) error {
	if above >= math.MaxInt64 {
		return fmt.Errorf("etcdlock: raise the fence above %d: more than the database can keep", above)
	}
	defer b.conns.Watch(ctx)()
	for {
		seen, err := b.kv.Get(ctx, b.raised())
		if err != nil {
			return fmt.Errorf("etcdlock: raise: %w", err)
		}
		offset, err := offsetIn(seen.Kvs)
		if err != nil {
			return fmt.Errorf("etcdlock: raise: %w", err)
		}
		if offset >= above {
			return nil
		}
		unchanged := int64(0)
		if len(seen.Kvs) > 0 {
			unchanged = seen.Kvs[0].ModRevision
		}
		t, err := b.kv.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(b.raised()), "=", unchanged)).
			Then(clientv3.OpPut(b.raised(), strconv.FormatUint(above, 10))).
			Commit()
		if err != nil {
			return fmt.Errorf("etcdlock: raise: %w", err)
		}
		if t.Succeeded {
			return nil
		}
	}
}

// offsetIn reads what is added to the fences; nothing is zero.
func offsetIn(kvs []*mvccpb.KeyValue) (uint64, error) {
	if len(kvs) == 0 {
		return 0, nil
	}
	return parseOffset(kvs[0].Value)
}
