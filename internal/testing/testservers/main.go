package testservers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/seckill/internal/tools/servers"
)

// started holds the shared servers of this process and the folder of their data.
var started struct {
	sync.Mutex
	dir     string
	servers []stopper
	proxies []func() // that end the proxies before them
}

// faultProxy excludes the goroutines of toxiproxy, which sometimes leaks one that was passing data
// on when its connection was cut. They are not the program's.
var faultProxy = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
	goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"),
}

// Main runs the tests of a package, stops the servers that they shared and calls what else there is
// to stop, checks for goroutines that they leaked, and exits. Use it as the whole of TestMain.
func Main(m *testing.M, stops ...func() error) {
	code := m.Run()
	err := stopAll()
	for _, stop := range stops {
		err = errors.Join(err, stop())
	}
	if code == 0 {
		err = errors.Join(err, findLeaks())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "after the tests:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// findLeaks returns the goroutines that are left. A closed pool of go-redis whose server is dead ends
// its probe only after a sleep of 1 s (pool.ConnPool.tryDial), longer than goleak waits.
func findLeaks() error {
	err := goleak.Find(faultProxy...)
	for end := time.Now().Add(3 * time.Second); err != nil && time.Now().Before(end); {
		err = goleak.Find(faultProxy...)
	}
	return err
}

func startAndKeep[S stopper](start starter[S]) (S, error) {
	started.Lock()
	defer started.Unlock()
	var none S
	home, err := home()
	if err != nil {
		return none, err
	}
	// Not a test's context: the server outlives the first test that needs it.
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	s, err := start(ctx, filepath.Join(home, strconv.Itoa(len(started.servers))))
	if err != nil {
		return none, err
	}
	started.servers = append(started.servers, s)
	end, err := moveAway(s)
	if err != nil {
		return none, err
	}
	started.proxies = append(started.proxies, end)
	return s, nil
}

// home returns the folder of this process's servers, created on first use. The caller must hold the
// lock.
func home() (string, error) {
	if started.dir == "" {
		dir, _, err := servers.NewFolder(parent(), homes)
		if err != nil {
			return "", err
		}
		started.dir = dir
	}
	return started.dir, nil
}

// dataDir returns a folder for the data of a test's own server. It is removed after the test.
func dataDir(t testing.TB) string {
	t.Helper()
	started.Lock()
	defer started.Unlock()
	home, err := home()
	check(t, err)
	dir, err := os.MkdirTemp(home, "private-") //nolint:usetesting // its folder may be on a disk
	check(t, err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func stopAll() error {
	started.Lock()
	defer started.Unlock()
	var errs []error
	for _, s := range started.servers {
		errs = append(errs, s.Stop())
	}
	for _, end := range started.proxies {
		end()
	}
	if started.dir != "" {
		errs = append(errs, os.RemoveAll(started.dir))
	}
	return errors.Join(errs...)
}
