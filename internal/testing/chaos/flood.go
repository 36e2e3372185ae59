package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/seckill/internal/tools/servers"
)

// floods are the kinds of hostile clients. Attackers run with the honest buyers, and each attacker repeats its
// attack.
var floods = []floodKind{
	{"slow-bodies", lowestPriority, slowBody},
	{"streams", lowestPriority, takeStream},
	{"random-ids", 0, lookAtNothing}, // at the lowest priority it would not reach its rate
	{"connections", lowestPriority, holdSilently},
}

type floodKind struct {
	name string
	// nice is the nice value of the flood's process. Real attackers have their own machines, but here they
	// share the cores with the buyers and the instances.
	nice   int
	attack func(ctx context.Context, a attacker)
}

const lowestPriority = 19

// flood is the description of a flood, which its process reads.
type flood struct {
	Name      string        `json:"name"`
	Attackers int           `json:"attackers"` // at once
	Hosts     []string      `json:"hosts"`     // of the instances
	Coupon    string        `json:"coupon"`
	Tokens    []string      `json:"tokens"`  // of accounts
	Pace      time.Duration `json:"pace_ns"` // of an attacker, between two lookups
}

// attacker is one client of a flood. It has one connection at a time.
type attacker struct {
	*flood
	n    int
	up   *atomic.Int64
	host string
}

const (
	floodAccounts = 80
	firstAccount  = 5_000_000_000
	toldEvery     = 10 * time.Millisecond
	comesLater    = 3 * time.Second // the longest Retry-After of a full instance
)

// Flood runs a flood in this process. It reads the description of the flood from in, as startFlood writes it,
// and continues until in ends. It returns an error if the description is not valid. It writes the number of
// connections or lookups of its attackers to out at an interval, one number per line.
func Flood(ctx context.Context, in io.Reader, out io.Writer) error {
	from := json.NewDecoder(in)
	var f flood
	if err := from.Decode(&f); err != nil {
		return fmt.Errorf("read what the flood is to do: %w", err)
	}
	kind := slices.IndexFunc(floods, func(k floodKind) bool { return k.name == f.Name })
	if kind < 0 || len(f.Hosts) == 0 || len(f.Tokens) == 0 {
		return fmt.Errorf("a flood %q of %d hosts with %d tokens is none", f.Name, len(f.Hosts), len(f.Tokens))
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		end()
	}()
	var up atomic.Int64
	var all sync.WaitGroup
	for n := range f.Attackers {
		all.Go(func() {
			for ctx.Err() == nil {
				floods[kind].attack(ctx, attacker{flood: &f, n: n, up: &up, host: f.Hosts[n%len(f.Hosts)]})
			}
		})
	}
	for sleep(ctx, toldEvery) {
		_, _ = fmt.Fprintln(out, up.Load())
	}
	all.Wait()
	_, err := fmt.Fprintln(out, up.Load())
	return err //nolint:wrapcheck // the pipe's
}

// floodProcess is a running flood.
type floodProcess struct {
	reached atomic.Int64 // its connections or lookups
	in      *io.PipeWriter
	gone    <-chan struct{}
	cmd     *exec.Cmd
	said    bytes.Buffer // its errors
}

// startFlood starts a flood in a separate process.
func (r *round) startFlood(kind floodKind, pace time.Duration) (*floodProcess, error) {
	f := flood{Name: kind.name, Attackers: r.attackers, Coupon: r.coupon, Pace: pace}
	for _, i := range r.env.fleet {
		f.Hosts = append(f.Hosts, strings.TrimPrefix(i.now().URL, "http://"))
	}
	for n := range int64(floodAccounts) {
		f.Tokens = append(f.Tokens, r.token(firstAccount+n, "user"))
	}
	text, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("the flood: %w", err)
	}
	cmd := exec.Command("nice", "-n", strconv.Itoa(kind.nice), r.env.program, "chaos", "flood") //nolint:gosec,noctx // our own, which end ends
	p := &floodProcess{cmd: cmd}
	in, out := io.Pipe()
	cmd.Stdin, cmd.Stdout, cmd.Stderr, p.in = io.MultiReader(bytes.NewReader(text), in), p, &p.said, out
	if p.gone, err = servers.Start(cmd); err != nil {
		return nil, fmt.Errorf("the flood: %w", err)
	}
	return p, nil
}

// Write implements io.Writer for the output of the process. The largest number counts.
func (p *floodProcess) Write(text []byte) (int, error) {
	for line := range strings.FieldsSeq(string(text)) { // the last may be the beginning of one
		if n, err := strconv.ParseInt(line, 10, 64); err == nil {
			p.reached.Store(max(n, p.reached.Load()))
		}
	}
	return len(text), nil
}

// end ends the flood and waits for its process. It may be called again.
func (p *floodProcess) end() error {
	_ = p.in.Close() // it has no error
	<-p.gone
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("the flood: %s: %s", p.cmd.ProcessState, p.said.Bytes())
	}
	return nil
}

// open connects from an address that few attackers share, and writes text. If the connection fails, open waits
// for a moment and returns nil.
func (a attacker) open(ctx context.Context, text string) (conn net.Conn, closed func()) {
	const perAddress, hosts = 20, 250
	block := a.n / perAddress
	from := &net.TCPAddr{IP: net.IPv4(127, 1, byte(block/hosts), byte(1+block%hosts))} //nolint:gosec // below 256
	conn, err := (&net.Dialer{LocalAddr: from, Timeout: time.Second, KeepAlive: -1}).DialContext(ctx, "tcp", a.host)
	if err != nil {
		_ = sleep(ctx, healthEvery)
		return nil, nil
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err == nil {
		a.up.Add(1)
	}
	return conn, func() { stop(); _ = conn.Close() }
}

// slowBody begins a purchase of one of a few accounts, and sends half of the request body.
func slowBody(ctx context.Context, a attacker) {
	conn, closed := a.open(ctx, "POST /api/v1/coupons/"+a.Coupon+"/orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Authorization: Bearer "+a.Tokens[a.n%len(a.Tokens)]+"\r\nContent-Length: 2\r\n\r\n{")
	if conn != nil {
		listen(conn)
		closed()
	}
}

// takeStream opens an event stream, and keeps it.
func takeStream(ctx context.Context, a attacker) {
	conn, closed := a.open(ctx, "GET /api/v1/coupons/"+a.Coupon+"/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if conn == nil {
		return
	}
	defer closed()
	var begin [len("HTTP/1.1 200")]byte
	if _, err := io.ReadFull(conn, begin[:]); err != nil || !strings.HasSuffix(string(begin[:]), "200") {
		closed()
		_ = sleep(ctx, rand.N(2*comesLater)) //nolint:gosec // it was told to, and comes at a moment of its own
		return
	}
	listen(conn)
}

// listen reads until the connection ends. The attackers are many, so their buffers are small.
func listen(conn net.Conn) {
	var b [256]byte
	for {
		if _, err := conn.Read(b[:]); err != nil {
			return
		}
	}
}

// lookAtNothing requests coupons that do not exist, at the attacker's pace.
func lookAtNothing(ctx context.Context, a attacker) {
	conn, closed := a.open(ctx, "")
	if conn == nil {
		return
	}
	defer closed()
	from := bufio.NewReader(conn)
	var text []byte
	for sleep(ctx, rand.N(2*a.Pace+1)) { //nolint:gosec // any moment will do
		text = append(text[:0], "GET /api/v1/coupons/"...)
		text = strconv.AppendInt(text, 1_000_000+rand.Int64N(1<<50), 10) //nolint:gosec // any id
		text = append(text, " HTTP/1.1\r\nHost: localhost\r\n\r\n"...)
		if _, err := conn.Write(text); err != nil || !readAnswer(from) {
			return
		}
		a.up.Add(1)
	}
}

// readAnswer reads an answer with a length, and reports whether there was one. The work of attackers takes CPU
// from the sale that is measured, so that readAnswer does as little as possible.
func readAnswer(from *bufio.Reader) bool {
	const length = "content-length: "
	size := -1
	for {
		line, err := from.ReadSlice('\n')
		switch {
		case err != nil:
			return false
		case len(line) > len(length) && strings.EqualFold(string(line[:len(length)]), length):
			if size, err = strconv.Atoi(string(bytes.TrimSpace(line[len(length):]))); err != nil {
				return false
			}
		case len(bytes.TrimSpace(line)) == 0:
			_, err := from.Discard(size)
			return err == nil
		}
	}
}

// holdSilently connects and sends nothing.
func holdSilently(ctx context.Context, a attacker) {
	if conn, closed := a.open(ctx, ""); conn != nil {
		listen(conn)
		closed()
	}
}
