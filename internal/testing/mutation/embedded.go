package mutation

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// embedded is a variable that holds an embedded file, or several.
type embedded struct {
	kind  string                       // of the variable: string, []byte or embed.FS
	texts map[string]map[string]string // of a mutant: by file, what it would be
}

// embed plants a mutant of an embedded file: the variable that holds the file gets
// another name, and one that asks which mutant is awake takes its place. It reports
// whether there is such a variable. One that is exported stays, because its type changes.
func (s *sleepers) embed(file, mutant, text string) bool {
	for name, source := range s.source {
		at, variable, kind := embedding(source, file)
		if variable == "" {
			continue
		}
		if s.embeds[variable] == nil {
			s.embeds[variable] = &embedded{kind, map[string]map[string]string{}}
			s.edits[name] = append(s.edits[name], edit{at, at + len(variable), variable + "Whole"})
		}
		s.embeds[variable].texts[mutant] = map[string]string{file: text}
		return true
	}
	return false
}

// embedding finds the variable that holds a file, and where its name is.
func embedding(source, file string) (at int, variable, kind string) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, "", source, parser.ParseComments)
	if err != nil {
		return 0, "", ""
	}
	for _, d := range tree.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR {
			continue
		}
		for _, spec := range group.Specs {
			v := spec.(*ast.ValueSpec) //nolint:forcetypeassert // a var has no other
			if v.Type == nil || v.Names[0].IsExported() || !embeds(v.Doc, file) && !embeds(group.Doc, file) {
				continue
			}
			from, to := files.Position(v.Type.Pos()).Offset, files.Position(v.Type.End()).Offset
			return files.Position(v.Names[0].Pos()).Offset, v.Names[0].Name, source[from:to]
		}
	}
	return 0, "", ""
}

// embeds reports whether a comment has the file embedded.
func embeds(doc *ast.CommentGroup, file string) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		patterns, ok := strings.CutPrefix(c.Text, "//go:embed ")
		for p := range strings.FieldsSeq(patterns) {
			if matches, _ := path.Match(p, file); ok && (matches || strings.HasPrefix(file, p+"/")) {
				return true
			}
		}
	}
	return false
}

// support is the file that tells which mutant is awake.
func (s *sleepers) support() string {
	imports, more := `import "os"`, ""
	for _, name := range slices.Sorted(maps.Keys(s.embeds)) {
		e := s.embeds[name]
		switch e.kind {
		case "embed.FS":
			imports = "import (\n\t\"embed\"\n\t\"io/fs\"\n\t\"os\"\n\t\"testing/fstest\"\n)"
			more += supportFiles + "\nvar " + name + " = mutantFiles{" + name + "Whole, " + e.literal() + "}\n"
		default:
			more += "\nvar " + name + " = func() " + e.kind + " {\n" +
				"\tfor name, files := range " + e.literal() + " {\n\t\tfor _, text := range files {\n" +
				"\t\t\tif mutantAwake(name) {\n\t\t\t\treturn " + e.kind + "(text)\n\t\t\t}\n\t\t}\n\t}\n\treturn " + name + "Whole\n}()\n"
		}
	}
	return "package " + s.name + "\n\n" + imports + `

var mutantLinked string

func mutantAwake(name string) bool {
	if mutantLinked != "" {
		return mutantLinked == name
	}
	return os.Getenv("` + awakeVariable + `") == name
}
` + more
}

const supportFiles = `
type mutantFiles struct {
	embed.FS
	texts map[string]map[string]string
}

func (f mutantFiles) ReadFile(name string) ([]byte, error) {
	for mutant, files := range f.texts {
		if text, ok := files[name]; ok && mutantAwake(mutant) {
			return []byte(text), nil
		}
	}
	return f.FS.ReadFile(name)
}

func (f mutantFiles) Open(name string) (fs.File, error) {
	for mutant, files := range f.texts {
		if text, ok := files[name]; ok && mutantAwake(mutant) {
			return fstest.MapFS{name: {Data: []byte(text)}}.Open(name)
		}
	}
	return f.FS.Open(name)
}
`

// literal is the texts as Go has it.
func (e *embedded) literal() string {
	var text strings.Builder
	text.WriteString("map[string]map[string]string{\n")
	for _, mutant := range slices.Sorted(maps.Keys(e.texts)) {
		for file, content := range e.texts[mutant] {
			text.WriteString("\t" + strconv.Quote(mutant) + ": {" + strconv.Quote(file) + ": " + strconv.Quote(content) + "},\n")
		}
	}
	return text.String() + "}"
}
