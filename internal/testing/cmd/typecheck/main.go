// Command typecheck checks the types of all packages, with their tests, for other systems than this one:
//
//	go run ./internal/testing/cmd/typecheck -tags nomsgpack windows/amd64 darwin/arm64
//
// It finds each call that a system lacks and generates no code: go vet compiles every dependency for every system
// first, which takes a processor minutes. It prints the errors, and exits with 1 if there is one.
package main

import (
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"

	"example.com/seckill/internal/tools/tool"
)

func main() {
	tags := flag.String("tags", "", "build tags, separated by commas")
	flag.Parse()
	tool.Main("typecheck", func(ctx context.Context) error {
		wrong := 0
		for _, target := range flag.Args() {
			found, err := check(ctx, ".", target, *tags)
			if err != nil {
				return err
			}
			for _, text := range found {
				_, _ = fmt.Fprintln(os.Stderr, target+":", text)
			}
			wrong += len(found)
		}
		if wrong > 0 {
			return fmt.Errorf("%d errors: a file for one system (_linux.go, or a build tag) must hold the call", wrong)
		}
		return nil
	})
}

// check returns the errors of the packages below dir on a target, which is GOOS/GOARCH. An error means that there was
// nothing to check.
func check(ctx context.Context, dir, target, tags string) (found []string, err error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	system, processor, _ := strings.Cut(target, "/")
	all, err := packages.Load(&packages.Config{
		Context: ctx, Dir: root, Tests: true, BuildFlags: []string{"-tags=" + tags},
		Env:  append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor),
		Mode: packages.LoadAllSyntax, // dependencies from their source: nothing is compiled
		ParseFile: func(files *token.FileSet, name string, text []byte) (*ast.File, error) {
			return parse(files, name, text, strings.HasPrefix(name, root))
		},
	}, "./...")
	if err != nil {
		return nil, fmt.Errorf("load the packages for %s: %w", target, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no packages for %s", target)
	}
	seen := map[string]bool{}
	for _, p := range all {
		if strings.HasSuffix(p.ID, ".test") {
			continue // the main function that go generates for tests
		}
		for _, e := range p.Errors {
			if text := e.Error(); !seen[text] { // a package and its tests have the same files
				seen[text] = true
				found = append(found, text)
			}
		}
	}
	return found, nil
}

// parse parses a file. Of a dependency it drops the bodies of functions: their types are not checked.
func parse(files *token.FileSet, name string, text []byte, ours bool) (*ast.File, error) {
	file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if file == nil || ours {
		return file, err //nolint:wrapcheck // it names the file
	}
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is {
			f.Body = nil
		}
	}
	return file, err //nolint:wrapcheck // the same
}
