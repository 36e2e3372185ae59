package model_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/seckill/internal/testing/model"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sample draws a quarter of many sales, and with -short, as in `make quick`, all.
func sample[T any](t *testing.T, sales []T) []T {
	t.Helper()
	if testing.Short() {
		return sales
	}
	return testservers.Sample(t, (len(sales)+3)/4, sales)
}

var update = flag.Bool("update", false, "write the files in testdata as they are now")

// golden holds text against a file of testdata.
func golden(t *testing.T, name string, text []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, text, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "go test -update writes it")
	require.Equal(t, string(want), string(text))
}

func trace(m *model.Sale, f model.Found[model.State]) string {
	var b bytes.Buffer
	m.Write(&b, f)
	return b.String()
}

// Who asks in the sales of these tests.
var (
	once  = []model.Wish{{User: 0, Key: 'a'}}
	again = []model.Wish{{User: 0, Key: 'a'}, {User: 0, Key: 'a'}}
	other = []model.Wish{{User: 0, Key: 'a'}, {User: 0, Key: 'b'}}
	two   = []model.Wish{{User: 0, Key: 'a'}, {User: 1, Key: 'a'}}
	three = []model.Wish{{User: 0, Key: 'a'}, {User: 0, Key: 'a'}, {User: 0, Key: 'b'}}
	crowd = []model.Wish{{User: 0, Key: 'a'}, {User: 0, Key: 'b'}, {User: 1, Key: 'a'}}
)

// apart are the versions of instances that do not work with each other.
var apart = []uint8{2, 0}

const all = model.Pay | model.Cancel | model.Expire
