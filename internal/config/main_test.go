package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines returns the lines of an error, and checks that each is one problem.
func lines(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	got := strings.Split(err.Error(), "\n")
	for _, l := range got {
		require.NotEmpty(t, strings.TrimSpace(l), "an empty line in:\n%s", err)
	}
	return got
}
