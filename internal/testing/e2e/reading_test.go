package e2e_test

import (
	"context"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/gobuild"
)

// readingFile is a heading of docs/READING.md that names a file to read.
var readingFile = regexp.MustCompile(`(?m)^## \d+\. \[([^\]]+)\]`)

// block is a part of a file, and how often it was executed.
type block struct{ first, last, times int }

// The files that READING.md recommends are the program: a sale in the default configuration executes each of them, and
// every statement of the function place.
func TestReadingPath_SaleInTheDefaultConfiguration_ExecutesEveryFile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/READING.md"))
	require.NoError(t, err)
	files := readingFile.FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, files)
	require.LessOrEqual(t, len(files), 10)

	executed := coverageOfADemo(t)
	for _, file := range files {
		if path := file[1]; filepath.Ext(path) == ".go" && !ran(executed[path]) {
			t.Errorf("docs/READING.md names %s, and the demo executes none of it", path)
		}
	}
	const page = "internal/order/place.go"
	first, last := linesOf(t, filepath.Join(root, page), "place")
	inside := 0
	for _, b := range executed[page] {
		if b.first >= first && b.last <= last {
			inside++
			if b.times == 0 {
				t.Errorf("%s:%d: the demo does not execute this statement of place", page, b.first)
			}
		}
	}
	require.Positive(t, inside)
}

func ran(blocks []block) bool {
	for _, b := range blocks {
		if b.times > 0 {
			return true
		}
	}
	return false
}

// coverageOfADemo plays a demo of a program that was built for coverage, and returns the blocks by file.
func coverageOfADemo(t *testing.T) map[string][]block {
	t.Helper()
	dir := t.TempDir()
	program, data, profile := filepath.Join(dir, "seckill"), filepath.Join(dir, "data"), filepath.Join(dir, "profile")
	require.NoError(t, gobuild.Build(t.Context(), root, program, "./cmd/seckill", gobuild.Tags, "-cover",
		"-coverpkg=./cmd/seckill,./internal/coupon,./internal/lock,./internal/order,./internal/stock,./internal/store"))
	require.NoError(t, os.Mkdir(data, 0o700))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	demo := exec.CommandContext(ctx, program, "demo", "--users", "2000", "--stock", "500", "--rate", "200")
	demo.Env = append(os.Environ(), "GOCOVERDIR="+data)
	out, err := demo.CombinedOutput()
	require.NoError(t, err, "%s", out)
	convert := exec.CommandContext(ctx, "go", "tool", "covdata", "textfmt", "-i="+data, "-o="+profile)
	convert.Dir = root
	out, err = convert.CombinedOutput()
	require.NoError(t, err, "%s", out)
	lines, err := os.ReadFile(profile)
	require.NoError(t, err)
	all := map[string][]block{}
	for _, m := range profileLine.FindAllStringSubmatch(string(lines), -1) {
		number := func(i int) int {
			n, err := strconv.Atoi(m[i])
			require.NoError(t, err)
			return n
		}
		if _, below, is := strings.Cut(m[1], "/internal/"); is {
			path := "internal/" + below
			all[path] = append(all[path], block{number(2), number(3), number(4)})
		}
	}
	return all
}

// profileLine is FILE:LINE.COLUMN,LINE.COLUMN STATEMENTS TIMES.
var profileLine = regexp.MustCompile(`(?m)^(\S+):(\d+)\.\d+,(\d+)\.\d+ \d+ (\d+)$`)

// linesOf returns the first and the last line of the body of a function.
func linesOf(t *testing.T, path, function string) (first, last int) {
	t.Helper()
	set := gotoken.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Name.Name == function {
			return set.Position(f.Body.Lbrace).Line, set.Position(f.Body.Rbrace).Line
		}
	}
	require.Fail(t, "no such function", function)
	return 0, 0
}
