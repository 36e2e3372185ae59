package etcdlock

import (
	"context"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// login adds the token of a user to calls, and another when the server does not know it any more, as
// after a restart. The client's own way sends the stale token with the login too, which servers of 3.4
// refuse for ever, and logs in before every stream, which costs the server a hash of the password.
type login struct {
	user, password string

	mu    sync.Mutex
	token string
}

// options returns what makes all calls of a connection use the token.
func (l *login) options() []grpc.DialOption {
	if l.user == "" {
		return nil
	}
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(l.call), grpc.WithChainStreamInterceptor(l.stream)}
}

// call sends one request, and again with another token if it was refused for the one that it had.
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

// stream opens a stream with the token. One that is refused for it is opened anew by its caller, after
// a call.
func (l *login) stream(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	token, err := l.first(ctx, conn)
	if err != nil {
		return nil, err
	}
	return open(withToken(ctx, token), desc, conn, method, opts...)
}

// first returns the token, after a login if there is none: without one a server may take the name in the
// client's certificate for the user.
func (l *login) first(ctx context.Context, conn *grpc.ClientConn) (string, error) {
	l.mu.Lock()
	token := l.token
	l.mu.Unlock()
	if token != "" {
		return token, nil
	}
	return l.renew(ctx, conn, "")
}

// renew returns a token other than old. Of those that ask at once one logs in.
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

// wantsLogin reports whether a call was refused because of the token that it had, or had not.
func wantsLogin(err error) bool {
	return isEtcd(err, rpctypes.ErrInvalidAuthToken) || isEtcd(err, rpctypes.ErrUserEmpty) || isEtcd(err, rpctypes.ErrAuthOldRevision)
}
