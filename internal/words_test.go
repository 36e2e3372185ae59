package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// givenUp are words that meant several things here, or nothing to a reader from elsewhere,
// each with the one in its place: docs/GLOSSARY.md has them. They begin no part of an
// exported name or of a file's name any more.
var givenUp = map[string]string{
	"settle": "reconcile", "settler": "Reconciler", "settles": "reconciles",
	"ticket": "unresolved order", "tickets": "unresolved orders",
	"bury": "dead letter", "hands": "concurrency",
	"fleet": "instances", "ears": "subscriptions", "brooms": "cleanup",
	"bed": "environment", "nurse": "supervisor", "crowd": "workload",
	"patience": "timeout", "pulse": "live stats", "door": "route policy", "theatre": "lab runner",
	"rivals": "lockbench", "contender": "candidate", "stamp": "environment",
	"trip": "batch", "books": "snapshot", "guarded": "breaker pool",
	"breaks": "mutants", "caught": "killed", "missed": "survived",
}

// eachSource calls with every Go file of ours.
func eachSource(t *testing.T, with func(path string, fset *token.FileSet, file *ast.File)) {
	t.Helper()
	for _, root := range []string{".", "../cmd"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err == nil {
				with(path, fset, file)
			}
			return err
		}))
	}
}

func TestWordsThatWereGivenUpAreGoneFromExportedNamesAndFiles(t *testing.T) {
	eachSource(t, func(path string, fset *token.FileSet, file *ast.File) {
		base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".go"), "_test")
		if word, gone := givenUp[base]; gone {
			t.Errorf("%s: a file of %s", path, word)
		}
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var names []*ast.Ident
			switch n := n.(type) {
			case *ast.FuncDecl:
				names = []*ast.Ident{n.Name}
			case *ast.TypeSpec:
				names = []*ast.Ident{n.Name}
			case *ast.ValueSpec:
				names = n.Names
			case *ast.Field:
				names = n.Names
			}
			for _, name := range names {
				if !name.IsExported() {
					continue
				}
				for _, part := range camel(name.Name) {
					if word, gone := givenUp[strings.ToLower(part)]; gone {
						t.Errorf("%s: %s: %q is called %q", fset.Position(name.Pos()), name.Name, part, word)
					}
				}
			}
			_, body := n.(*ast.BlockStmt)
			return !body
		})
	})
}

// camel parts a name before its capitals.
func camel(name string) (parts []string) {
	from := 0
	for i, r := range name {
		if i > from && unicode.IsUpper(r) {
			parts, from = append(parts, name[from:i]), i
		}
	}
	return append(parts, name[from:])
}

// phrases that the standard library does not use, with what it says.
var phrases = map[*regexp.Regexp]string{
	regexp.MustCompile(`\b(says|tells) (whether|if)\b`): "reports whether",
	regexp.MustCompile(`^// \w+ is \w+\.\w+'s\.$`):      "implements",
}

func TestCommentsSpeakAsTheStandardLibraryDoes(t *testing.T) {
	eachSource(t, func(_ string, fset *token.FileSet, file *ast.File) {
		for _, group := range file.Comments {
			for _, c := range group.List {
				for phrase, better := range phrases {
					if phrase.MatchString(c.Text) {
						t.Errorf("%s: %q: write %q", fset.Position(c.Pos()), c.Text, better)
					}
				}
			}
		}
	})
}
