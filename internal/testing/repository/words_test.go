package repository_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// givenUp are words that had several meanings here, or none for other readers, each with its replacement from
// docs/GLOSSARY.md. No part of an exported name or of a file's name may be one of them.
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
	for _, root := range []string{root + "/internal", root + "/cmd"} {
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

func TestExportedNames_Words_AreNotForbidden(t *testing.T) {
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

// spoken are the names that a user of the program meets in its source: metrics, and keys of the configuration.
var spoken = regexp.MustCompile(`^"seckill_([a-z_]+)"$|\bkey:"([a-z_]+)"`)

func TestMetricsAndKeys_Words_AreNotForbidden(t *testing.T) {
	found := 0
	eachSource(t, func(path string, fset *token.FileSet, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, is := n.(*ast.BasicLit)
			if !is || lit.Kind != token.STRING {
				return true
			}
			for _, name := range spoken.FindAllStringSubmatch(lit.Value, -1) {
				found++
				for part := range strings.SplitSeq(name[1]+name[2], "_") {
					if word, gone := givenUp[part]; gone {
						t.Errorf("%s: %s: %q is called %q", fset.Position(lit.Pos()), lit.Value, part, word)
					}
				}
			}
			return true
		})
	})
	require.Greater(t, found, 100, "the metrics and keys are not found")
}

func TestFiles_Names_HaveNoForbiddenWord(t *testing.T) {
	for _, root := range []string{root + "/internal", root + "/cmd", root + "/docs", root + "/configs", root + "/loadtest"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || strings.Contains(path, "testdata") {
				return err
			}
			name := strings.TrimSuffix(strings.TrimSuffix(d.Name(), filepath.Ext(d.Name())), "_test")
			// stamp.lua puts a fence on a lock. The forbidden word is the stamp of a machine.
			if word, gone := givenUp[name]; gone && d.Name() != "stamp.lua" {
				t.Errorf("%s: a file or folder of %s", path, word)
			}
			return nil
		}))
	}
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

// phrases that the standard library does not use, each with its replacement.
var phrases = map[*regexp.Regexp]string{
	regexp.MustCompile(`\b(says|tells|answers) (whether|if)\b`): "reports whether",
	regexp.MustCompile(`^// \w+ is \w+\.\w+'s\.`):               "implements",
}

// firstWords match the first line of a doc comment that begins with a forbidden verb.
var firstWords = regexp.MustCompile(`^// \w+ gives `)

func TestComments_Phrases_AreTheStandardLibrarys(t *testing.T) {
	eachSource(t, func(path string, fset *token.FileSet, file *ast.File) {
		for _, group := range file.Comments {
			if first := group.List[0]; !strings.HasSuffix(path, "_test.go") && first.Pos() == group.Pos() && firstWords.MatchString(first.Text) &&
				!strings.Contains(first.Text, " gives up") {
				t.Errorf("%s: %q: write \"returns\"", fset.Position(first.Pos()), first.Text)
			}
			for _, c := range group.List {
				for phrase, better := range phrases {
					if phrase.MatchString(c.Text) {
						t.Errorf("%s: %q: write %q", fset.Position(c.Pos()), c.Text, better)
					}
				}
				if at := fset.Position(c.Pos()); at.Column+utf8.RuneCountInString(c.Text) > 121 && !strings.Contains(c.Text, "nolint") &&
					!strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(c.Text, "//\t") && at.Column < 10 {
					t.Errorf("%s: a comment beyond column 120", at)
				}
			}
		}
	})
}

func TestComments_BoolFunction_ReportsWhether(t *testing.T) {
	eachSource(t, func(path string, fset *token.FileSet, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Doc == nil || !f.Name.IsExported() || f.Type.Results == nil || len(f.Type.Results.List) != 1 {
				continue
			}
			if result, named := f.Type.Results.List[0].Type.(*ast.Ident); !named || result.Name != "bool" {
				continue
			}
			if doc := f.Doc.Text(); !strings.Contains(strings.ReplaceAll(doc, "\n", " "), "reports whether") && !strings.Contains(doc, "implements") {
				t.Errorf("%s: %s: %q", fset.Position(f.Pos()), f.Name.Name, doc)
			}
		}
	})
}

// A program is "it". These words are for people, and "who" follows a person of the glossary.
var (
	people  = regexp.MustCompile(`\b([Nn]obody|[Ww]hoever|[Ss]omebody|[Ee]verybody|[Aa]nybody)\b`)
	who     = regexp.MustCompile(`(?i)\bwhom?\b`)
	persons = regexp.MustCompile(`(?i)\b(buyer|user|visitor|administrator|operator|owner|reader|person|people|author)s?\b`)
)

// ofPeople are comments that may use such a word all the same.
var ofPeople = map[string]string{
	"Mutation: a release frees the key whoever holds it.": "quotes a mutant",
	"nobody is the self of an insert":                     "nobody is a name",
}

func TestComments_Programs_AreNotPeople(t *testing.T) {
	check := func(at, text string) {
		for quoted := range ofPeople {
			text = strings.ReplaceAll(text, quoted, "")
		}
		if word := people.FindString(text); word != "" {
			t.Errorf("%s: %q is of people: say what it is in %q", at, word, text)
		}
		for _, place := range who.FindAllStringIndex(text, -1) {
			before := strings.Fields(text[:place[0]])
			if !persons.MatchString(strings.Join(before[max(0, len(before)-10):], " ")) {
				t.Errorf("%s: who, of what is no person: %q", at, text)
			}
		}
	}
	eachSource(t, func(path string, fset *token.FileSet, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, group := range file.Comments {
			check(fset.Position(group.Pos()).String(), strings.ReplaceAll(group.Text(), "\n", " "))
		}
	})
	for _, pattern := range []string{
		"Makefile", ".ci/*", "loadtest/*.js", "configs/*.yaml", "internal/api/web/*.js", "internal/*/lua/*.lua", "internal/*/*/*.lua", "internal/*/*.lua",
	} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, comment := range lineComments.FindAllString(string(text), -1) {
				check(file, comment)
			}
		}
	}
}

// lineComments are the whole-line comments of everything that is not Go, a block at a time.
var lineComments = regexp.MustCompile(`(?m)(^[ \t]*(//|--|#).*\n)+`)
