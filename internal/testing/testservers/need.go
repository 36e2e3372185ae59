package testservers

import (
	"errors"
	"testing"

	"example.com/seckill/internal/tools/servers"
)

// Need skips the test unless the programs that looks find may be started: -short leaves out every
// test that wants a server, and a machine may have none. `make quick` counts what was left out, and
// `make test` fails on it. It is for tests that start servers in another way than by this package,
// whose other functions call it themselves.
func Need(t testing.TB, looks ...func() error) {
	t.Helper()
	for _, look := range looks {
		skipWithout(t, look())
	}
	if testing.Short() {
		t.Skip(leftOut)
	}
}

// Servers is what a test that starts both stores passes to Need.
func Servers() error { return errors.Join(servers.LookMariaDB(), servers.LookRedis()) }

const leftOut = "-short leaves out what needs a server"

// skipWithout skips the test if what it needs is not installed.
func skipWithout(t testing.TB, err error) {
	t.Helper()
	if missing := (*servers.MissingError)(nil); errors.As(err, &missing) {
		t.Skipf("%v", missing)
	}
}
