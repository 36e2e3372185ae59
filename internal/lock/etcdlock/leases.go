package etcdlock

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// tidyWithin bounds a cleanup that no caller waits for.
const tidyWithin = time.Second

// leaseID returns the id of the etcd lease of one acquisition: 63 bits of a hash, never zero.
func leaseID(key, token string) clientv3.LeaseID {
	sum := sha256.Sum256([]byte(key + "\x00" + token))
	id := int64(binary.BigEndian.Uint64(sum[:8]) >> 1) // 63 bits
	return clientv3.LeaseID(max(id, 1))
}

// grantLease makes the lease. If an earlier call made it and lost its reply, grantLease keeps it
// alive.
func (b *Backend) grantLease(ctx context.Context, id clientv3.LeaseID, ttl int64) error {
	got, err := b.leases.LeaseGrant(ctx, &pb.LeaseGrantRequest{ID: int64(id), TTL: ttl})
	if isEtcd(err, rpctypes.ErrLeaseExist) {
		alive, err := b.keepAlive(ctx, id, ttl)
		if err == nil && !alive {
			err = errors.New("the lease of an earlier call with this token has run out")
		}
		return err
	}
	if err != nil {
		return fmt.Errorf("grant a lease: %w", err)
	}
	return longEnough(got.TTL, ttl)
}

// keepAlive makes the lease last its whole length from now. It returns false if the lease has run
// out.
func (b *Backend) keepAlive(ctx context.Context, id clientv3.LeaseID, ttl int64) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream, of which one message each way is used
	stream, err := b.leases.LeaseKeepAlive(ctx)
	if err != nil {
		return false, fmt.Errorf("keep the lease alive: %w", err)
	}
	// A failed send returns io.EOF. The receive returns the cause.
	if err := stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(id)}); err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("keep the lease alive: %w", err)
	}
	got, err := stream.Recv()
	switch {
	case isEtcd(err, rpctypes.ErrLeaseNotFound) || err == nil && got.TTL <= 0:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("keep the lease alive: %w", err)
	default:
		return true, longEnough(got.TTL, ttl)
	}
}

// revoke ends the lease, and deletes the keys that are attached to it. If revoke fails, the lease
// runs out by itself.
func (b *Backend) revoke(ctx context.Context, id clientv3.LeaseID) {
	_, err := b.leases.LeaseRevoke(ctx, &pb.LeaseRevokeRequest{ID: int64(id)})
	if err != nil && !isEtcd(err, rpctypes.ErrLeaseNotFound) {
		b.o.Logger.Debug("etcdlock: cannot revoke a lease, it will run out", "err", err)
	}
}

// revokeAlone revokes with a timeout of its own, even if ctx has ended.
func (b *Backend) revokeAlone(ctx context.Context, id clientv3.LeaseID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyWithin)
	defer cancel()
	defer b.conns.Watch(ctx)()
	b.revoke(ctx, id)
}

func longEnough(got, want int64) error {
	if got < want {
		return fmt.Errorf("the server's lease is %d s, asked for %d s", got, want)
	}
	return nil
}

// isEtcd reports whether err, as gRPC returned it, is the error want of etcd.
func isEtcd(err, want error) bool { return err != nil && errors.Is(rpctypes.Error(err), want) }

// isNetwork reports whether err means that no answer came. The call may have been carried out then.
func isNetwork(err error) bool {
	if err == nil {
		return false
	}
	if known, ok := errors.AsType[rpctypes.EtcdError](err); ok {
		return known.Code() == codes.Unavailable
	}
	return status.Code(err) == codes.Unavailable
}
