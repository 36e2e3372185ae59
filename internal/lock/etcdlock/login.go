package etcdlock

import (
	"context"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// login adds the token of a user to calls. If the server does not know the token any more, as after
// a restart, login gets another one. The client's own method sends the stale token with the login,
// and servers of 3.4 reject such a login for ever. It also logs in before every stream, which costs
// the server a hash of the password.
type login struct {
	user, password string

	mu    sync.Mutex
	token string
}

// options returns the dial options with which all calls of a connection use the token.
func (l *login) options() []grpc.DialOption {
	if l.user == "" {
		return nil
	}
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(l.call), grpc.WithChainStreamInterceptor(l.stream)}
}

// call sends one request. If the server rejects the token, call gets another token and sends the
// request again.
func (l *login) call(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	if method == pb.Auth_Authenticate_FullMethodName {
		return invoke(ctx, method, req, reply, conn, opts...)
	}
	token, err := l.first(ctx, conn)
	if err != nil {
		return err
	}
	err = invoke(withToken(ctx, token), method, req, reply, conn, opts...)
	if !wantsLogin(err) {
		return err
	}
	if token, err = l.renew(ctx, conn, token); err != nil {
		return err
	}
	return invoke(withToken(ctx, token), method, req, reply, conn, opts...)
}

// stream opens a stream with the token. If the server rejects the token, the caller of stream makes
// a call and opens the stream again.
func (l *login) stream(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	token, err := l.first(ctx, conn)
	if err != nil {
		return nil, err
	}
	return open(withToken(ctx, token), desc, conn, method, opts...)
}

// first returns the token, after a login if there is none. Without a token a server may take the
// name in the client's certificate for the user.
func (l *login) first(ctx context.Context, conn *grpc.ClientConn) (string, error) {
	l.mu.Lock()
	token := l.token
	l.mu.Unlock()
	if token != "" {
		return token, nil
	}
	return l.renew(ctx, conn, "")
}

// renew returns a token other than old. If several calls ask at once, one of them logs in.
func (l *login) renew(ctx context.Context, conn *grpc.ClientConn, old string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token != old {
		return l.token, nil
	}
	got, err := pb.NewAuthClient(conn).Authenticate(ctx, &pb.AuthenticateRequest{Name: l.user, Password: l.password})
	if err != nil {
		return "", err //nolint:wrapcheck // it says what it is
	}
	l.token = got.Token
	return l.token, nil
}

func withToken(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, token)
}

// wantsLogin reports whether the server rejected a call because of its token, or because it had no
// token.
func wantsLogin(err error) bool {
	return isEtcd(err, rpctypes.ErrInvalidAuthToken) || isEtcd(err, rpctypes.ErrUserEmpty) || isEtcd(err, rpctypes.ErrAuthOldRevision)
}
