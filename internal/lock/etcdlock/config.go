package etcdlock

import (
	"context"
	"fmt"
	"net"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"example.com/seckill/internal/lock/deadpeer"
)

const dialWithin = time.Second

// config returns the settings of a client whose connections conns watches. gRPC would notice
// one that swallows everything after many seconds, for etcd forbids frequent pings.
func config(conns *deadpeer.Detector, endpoints []string, o Options) clientv3.Config {
	dial := func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, fmt.Errorf("etcdlock: %w", err)
		}
		return conns.Track(conn), nil
	}
	quick := backoff.DefaultConfig
	quick.BaseDelay, quick.MaxDelay = 50*time.Millisecond, time.Second
	return clientv3.Config{
		Endpoints: endpoints,
		TLS:       o.TLS,
		Logger:    zap.NewNop(), // every failure reaches the caller
		// Not more often than a server tolerates by default.
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		DialTimeout:          dialWithin,
		DialOptions: append((&login{user: o.Username, password: o.Password}).options(),
			grpc.WithContextDialer(dial),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: quick, MinConnectTimeout: dialWithin}),
		),
	}
}
