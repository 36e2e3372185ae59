package locktest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// maxWait bounds the wait for what is to happen, where how soon is not the point.
const maxWait = 20 * time.Second

// eventually polls until the condition holds, and fails the test after so long. Unlike
// testify's, it asks in the test's own goroutine: no question is under way when it
// returns, which would act on the lock or race with the test.
func eventually(t testing.TB, holds func() bool, within, tick time.Duration, said ...any) {
	t.Helper()
	for end := time.Now().Add(within); !holds(); time.Sleep(tick) {
		if time.Now().After(end) {
			require.Fail(t, fmt.Sprintf("did not come to be within %s", within), said...)
		}
	}
}

// never polls for so long, and fails the test if the condition holds meanwhile.
func never(t testing.TB, holds func() bool, during, tick time.Duration, said ...any) {
	t.Helper()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(tick) {
		if holds() {
			require.Fail(t, "came to be", said...)
		}
	}
}
