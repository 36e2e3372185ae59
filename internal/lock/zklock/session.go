package zklock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	maxSessions    = 16               // in use at once: for each of them a server has a connection
	defaultSession = 10 * time.Second // for a Backend that has not acquired yet
)

// session is one session, kept alive by the library, which also opens a new one
// when it has expired. Nodes tell by their owner which of them they belong to.
type session struct {
	b     *Backend
	conn  *zk.Conn
	conns *connManager
	ended chan struct{} // closed when the library's goroutines are gone

	users int       // calls, entries and places that need it; guarded by the mutex of the Backend
	since time.Time // when the last of them went

	logins  sync.WaitGroup
	mu      sync.Mutex
	alive   context.Context // of the present session of the server; ends when it has expired
	expire  context.CancelFunc
	known   bool // to the server as Options.Username; the library says so again on later connections
	up      bool
	away    error         // why there is no session, while that is known
	changed chan struct{} // closed when one of them changes
}

// session returns the session for leases of a length. Every session
// that was got is given back with done.
func (b *Backend) session(lease time.Duration) (*session, error) {
	length := (lease + time.Millisecond - 1).Truncate(time.Millisecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessionOf(length)
}

// anySession returns the session of an entry, or any.
func (b *Backend) anySession(e *entry) (*session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e != nil && !b.closed {
		e.s.users++
		return e.s, nil
	}
	for length := range b.sessions {
		return b.sessionOf(length)
	}
	return b.sessionOf(defaultSession)
}

// done releases a session.
func (b *Backend) done(s *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leave(s)
}

// leave is done with the mutex held.
func (b *Backend) leave(s *session) {
	s.users--
	s.since = time.Now()
}

// endIdle ends the session that has been without any use for longest, and reports whether
// there was one.
func (b *Backend) endIdle() bool {
	idle, found := time.Duration(0), false
	for length, s := range b.sessions {
		if s.users == 0 && (!found || s.since.Before(b.sessions[idle].since)) {
			idle, found = length, true
		}
	}
	if found {
		s := b.sessions[idle]
		delete(b.sessions, idle)
		b.tidy.Go(func() { s.end(false) })
	}
	return found
}

func (b *Backend) sessionOf(length time.Duration) (*session, error) {
	if b.closed {
		return nil, errClosed
	}
	if s, ok := b.sessions[length]; ok {
		s.users++
		return s, nil
	}
	if len(b.sessions) >= maxSessions && !b.endIdle() {
		return nil, fmt.Errorf("zklock: leases of more than %d different lengths at once", maxSessions)
	}
	s := &session{b: b, ended: make(chan struct{}), changed: make(chan struct{}), users: 1}
	s.alive, s.expire = context.WithCancel(context.Background())
	s.conns = newConnManager(b.servers, b.o.TLS, func(err error) { s.setState(false, err) })
	conn, events, err := zk.Connect(b.servers, length,
		zk.WithDialer(s.conns.dial), zk.WithHostProvider(s.conns), zk.WithEventCallback(s.onEvent),
		zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("zklock: %w", err)
	}
	s.conn = conn
	go func() {
		defer close(s.ended)
		for range events { // hear has heard them
		}
	}()
	b.sessions[length] = s
	return s, nil
}

// onEvent follows the state of the connection.
func (s *session) onEvent(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	if e.State == zk.StateExpired {
		s.expired()
	}
	switch e.State {
	case zk.StateHasSession:
		s.mu.Lock()
		known := s.known || s.b.o.Username == ""
		s.mu.Unlock()
		if known {
			s.setState(true, nil)
			return
		}
		s.logins.Go(s.logIn) // its answer needs the goroutine that this is
	case zk.StateDisconnected, zk.StateExpired:
		s.mu.Lock()
		wasUp := s.up
		s.mu.Unlock()
		if wasUp { // the next attempt follows at once and is worth waiting for
			s.setState(false, nil)
		} else {
			s.setState(false, errors.New("the server gives no session"))
		}
	default: // on the way to one
	}
}

// expired ends the leases of a session that the server has ended. The library says so before it opens another one.
func (s *session) expired() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	s.alive, s.expire = context.WithCancel(context.Background())
}

// lifetime returns a context that ends when the present session has expired.
func (s *session) lifetime() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alive
}

// logIn tells the server the user of the session, which is up then.
func (s *session) logIn() {
	s.b.mu.Lock()
	conn := s.conn // it is set under the mutex
	s.b.mu.Unlock()
	if conn == nil {
		return
	}
	if err := conn.AddAuth("digest", []byte(s.b.o.Username+":"+s.b.o.Password)); err != nil {
		s.setState(false, fmt.Errorf("log in: %w", err)) // until the next connection
		return
	}
	s.mu.Lock()
	s.known = true
	s.mu.Unlock()
	s.setState(true, nil)
}

func (s *session) setState(up bool, away error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.up, s.away = up, away
	close(s.changed)
	s.changed = make(chan struct{})
}

// state is whether there is a session, what is closed when that changes, and why
// there is none, if it is known.
func (s *session) state() (up bool, changed <-chan struct{}, away error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away != nil {
		away = fmt.Errorf("no session: %w", s.away)
	}
	return s.up, s.changed, away
}

// ready returns when there is a session, and fails at once while the servers are
// known to be away: the library would keep every call until they are back.
func (s *session) ready(ctx context.Context) error {
	for {
		up, changed, away := s.state()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case up:
			return nil
		case away != nil:
			return away
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-s.b.ctx.Done():
			return errClosed
		}
	}
}

// longEnough refuses a lease that the session could end before its holder does.
func (s *session) longEnough(ctx context.Context, lease time.Duration) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if got := s.conns.timeout(); got < lease {
		return fmt.Errorf("the server grants sessions of %v, too short for a lease of %v (see maxSessionTimeout)", got, lease)
	}
	return nil
}

// end closes the session, or, if something is still held in it, lets it run out.
func (s *session) end(held bool) {
	s.conns.shut(held)
	s.conn.Close()
	s.conns.shut(true)
	<-s.ended
	s.logins.Wait()
}

// call runs f, which has no context, and leaves it to itself when ctx ends or the
// servers are away: a call that came just after its connection broke is kept by the
// library until there is another.
func call[T any](ctx context.Context, s *session, f func(c *zk.Conn) (T, error)) (T, error) {
	var none T
	if err := s.ready(ctx); err != nil {
		return none, err
	}
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		value, err := f(s.conn)
		answered <- answer{value, err}
	}()
	for {
		_, changed, away := s.state()
		select {
		case a := <-answered:
			return a.value, a.err
		default:
		}
		if away != nil {
			return none, away
		}
		select {
		case a := <-answered:
			return a.value, a.err
		case <-changed:
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
}

// isNetwork reports whether err says that no answer came, so that the call may
// have been carried out.
func isNetwork(err error) bool {
	var network net.Error
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionExpired) ||
		errors.Is(err, zk.ErrSessionMoved) || errors.Is(err, zk.ErrNoServer) || errors.Is(err, io.EOF) ||
		errors.As(err, &network)
}

// silent takes the library's log: every failure reaches a caller.
type silent struct{}

func (silent) Printf(string, ...any) {}

// beginIn is begin for a goroutine that needs s.
func (b *Backend) beginIn(s *session, f func()) bool {
	b.mu.Lock()
	s.users++
	b.mu.Unlock()
	began := b.begin(func() {
		defer b.done(s)
		f()
	})
	if !began {
		b.done(s)
	}
	return began
}
