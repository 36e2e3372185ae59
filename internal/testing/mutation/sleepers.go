package mutation

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// awakeVariable names in the environment the mutant that is awake.
const awakeVariable = "SECKILL_MUTANT_AWAKE"

// sleepers are the mutants of one package, planted in copies of its files.
type sleepers struct {
	folder string
	name   string            // of the package
	source map[string]string // by file, if it is Go and no test
	edits  map[string][]edit
	embeds map[string]*embedded // by the variable
}

// edit puts text in the place of source[from:to].
type edit struct {
	from, to int
	text     string
}

// packageOf returns the folder of the package that a file belongs to: its own, or one above
// if it is embedded.
func packageOf(root, file string) string {
	folder := path.Dir(file)
	for ; folder != "."; folder = path.Dir(folder) {
		if files, _ := goFiles(root, folder); len(files) > 0 {
			break
		}
	}
	return folder
}

// goFiles are the files of a package without its tests.
func goFiles(root, folder string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("mutation: %w", err)
	}
	return slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") }), nil
}

// readSleepers reads the files of a package.
func readSleepers(root, folder string) (*sleepers, error) {
	s := &sleepers{folder: folder, source: map[string]string{}, edits: map[string][]edit{}, embeds: map[string]*embedded{}}
	names, err := goFiles(root, folder)
	if err != nil {
		return nil, err
	}
	for _, file := range names {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("mutation: %w", err)
		}
		s.source[filepath.Base(file)] = string(text)
	}
	for file, text := range s.source {
		tree, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly)
		if err != nil {
			return nil, fmt.Errorf("mutation: %w", err)
		}
		s.name = tree.Name.Name
	}
	return s, nil
}

// add plants a mutant, asleep, and reports whether it could.
func (s *sleepers) add(root string, m Mutant) bool {
	after, err := m.apply(root)
	if err != nil {
		return false
	}
	name := m.file.OldName
	if path.Ext(name) != ".go" {
		return s.embed(strings.TrimPrefix(name, s.folder+"/"), m.Name(), after)
	}
	bodies, ok := changedBodies(s.source[path.Base(name)], after)
	for at, body := range bodies {
		s.edits[path.Base(name)] = append(s.edits[path.Base(name)], edit{
			at, at, "\nif mutantAwake(" + strconv.Quote(m.Name()) + ") " + body + "\n",
		})
	}
	return ok
}

// changedBodies returns the bodies of functions that differ in a mutated file, each by the
// offset at which the original's body begins, and reports whether there is nothing else
// that differs. Each body ends in a return.
func changedBodies(before, after string) (map[int]string, bool) {
	old, oldRest, err := functions(before)
	if err != nil {
		return nil, false
	}
	mutated, rest, err := functions(after)
	if err != nil || rest != oldRest || len(old) != len(mutated) {
		return nil, false
	}
	changed := map[int]string{}
	for i, f := range mutated {
		if f.text == old[i].text {
			continue
		}
		if f.labels {
			return nil, false // a label is there once in a function
		}
		if f.results {
			changed[old[i].from+1] = f.text
		} else {
			changed[old[i].from+1] = strings.TrimSuffix(f.text, "}") + "\nreturn\n}"
		}
	}
	return changed, true
}

// function is the body of a function of a file.
type function struct {
	from            int
	text            string
	results, labels bool
}

// functions returns the bodies in a file, and the text around them.
func functions(source string) (all []function, rest string, err error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, "", fmt.Errorf("mutation: %w", err)
	}
	var around strings.Builder
	end := 0
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		from, to := files.Position(f.Body.Lbrace).Offset, files.Position(f.Body.Rbrace).Offset+1
		around.WriteString(source[end:from])
		end = to
		one := function{from: from, text: source[from:to], results: f.Type.Results != nil}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			_, labelled := n.(*ast.LabeledStmt)
			one.labels = one.labels || labelled
			return true
		})
		all = append(all, one)
	}
	return all, around.String() + source[end:], nil
}

// files are the copies with mutants in them, and one file more.
func (s *sleepers) files() map[string]string {
	if len(s.edits) == 0 {
		return nil
	}
	files := map[string]string{"mutants_asleep.go": s.support()}
	for name, edits := range s.edits {
		text := s.source[name]
		slices.SortStableFunc(edits, func(a, b edit) int { return b.from - a.from })
		for _, e := range edits {
			text = text[:e.from] + e.text + text[e.to:]
		}
		files[name] = text
	}
	return files
}

// symbol is the variable that the linker sets in programs that tests build, which may be
// run with an environment of their own.
func (m Mutant) symbol(root string) string {
	s, err := readSleepers(root, packageOf(root, m.file.OldName))
	if err != nil || s.name == "main" {
		return "main.mutantLinked"
	}
	text, _ := os.ReadFile(filepath.Join(root, "go.mod")) // without one nothing is built
	module, _, _ := strings.Cut(strings.TrimPrefix(string(text), "module "), "\n")
	return module + "/" + s.folder + ".mutantLinked"
}
