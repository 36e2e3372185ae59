package lab

import (
	"embed"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/seckill/internal/tools/lab/harness"
)

// sources are the source files of the experiments.
//
//go:embed *.go
var sources embed.FS

// addSource adds the source of the scripts to a result, and to each step its line in the source.
func addSource(r *harness.Result) {
	b := blocks{files: map[string]*source{}, at: map[*part]int{}, whats: map[[2]int]map[bool]map[string]bool{}}
	for i := range r.Cases {
		c := &r.Cases[i]
		for n := range c.Events {
			e := &c.Events[n]
			if e.Line = b.line(e.Trace(), c.Wrong); e.Line != nil {
				b.did(e.Line, e.What, c.Wrong)
			}
		}
	}
	r.Code = b.all
	for at, whats := range b.whats {
		line := &r.Code[at[0]].Lines[at[1]]
		line.Differs = line.Wrong && line.Right && !maps.Equal(whats[true], whats[false])
	}
	foldAll(r.Code)
}

// did notes the step that a line did in a wrong case, or in a right one.
func (b *blocks) did(line []int, what string, wrong bool) {
	at := [2]int(line)
	if b.whats[at] == nil {
		b.whats[at] = map[bool]map[string]bool{true: {}, false: {}}
	}
	b.whats[at][wrong][what] = true
}

// blocks collects the parts of the source that the steps came from.
type blocks struct {
	all   []harness.Block
	files map[string]*source
	at    map[*part]int
	whats map[[2]int]map[bool]map[string]bool // by line and wrongness, the steps that the line did
}

// source is a file and its parts that may be shown.
type source struct {
	lines []string
	parts []*part
}

// part is a function, from line to line. If the function returns an experiment, the part is its body before
// the return.
type part struct{ from, to int }

// line returns the block and the line in it for a step, and marks the line as run. The block is the
// outermost function that may be shown: the script itself, and not its helpers. The line is the innermost
// line of that function.
func (b *blocks) line(trace []string, wrong bool) []int {
	var in *source
	var of *part
	var file string
	at := 0
	for _, frame := range slices.Backward(trace) {
		name, number, _ := strings.Cut(frame, ":")
		n, err := strconv.Atoi(number)
		f := b.file(name)
		if err != nil || f == nil {
			continue
		}
		i := slices.IndexFunc(f.parts, func(p *part) bool { return p.from <= n && n <= p.to })
		switch {
		case of == nil && i >= 0: // frames before this one are in the experiment's own text
			in, of, file, at = f, f.parts[i], name, n
		case of != nil && i >= 0 && f.parts[i] == of:
			at = n
		}
	}
	if of == nil {
		return nil
	}
	block, known := b.at[of]
	if !known {
		block = len(b.all)
		b.at[of] = block
		b.all = append(b.all, newBlock(file, in.lines[of.from-1:of.to]))
	}
	line := &b.all[block].Lines[at-of.from]
	line.Wrong, line.Right = line.Wrong || wrong, line.Right || !wrong
	return []int{block, at - of.from}
}

func newBlock(file string, lines []string) harness.Block {
	block := harness.Block{File: "internal/tools/lab/" + file}
	for _, text := range lines {
		block.Lines = append(block.Lines, harness.Line{Text: text})
	}
	return block
}

// file returns a file of the sources, or nil if there is none of that name.
func (b *blocks) file(name string) *source {
	if f, known := b.files[name]; known {
		return f
	}
	text, err := sources.ReadFile(name)
	if err != nil {
		return nil
	}
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	f := &source{lines: strings.Split(string(text), "\n")}
	for _, d := range tree.Decls {
		if decl, ok := d.(*ast.FuncDecl); ok {
			f.parts = append(f.parts, newPart(decl, func(at token.Pos) int { return files.Position(at).Line }, f.lines))
		}
	}
	b.files[name] = f
	return f
}

// newPart returns the part of a function that may be shown.
func newPart(decl *ast.FuncDecl, line func(token.Pos) int, lines []string) *part {
	p := &part{line(decl.Pos()), line(decl.End())}
	body := decl.Body.List
	if results := decl.Type.Results; results == nil || len(body) == 0 || len(results.List) != 1 {
		return p
	}
	if kind, ok := decl.Type.Results.List[0].Type.(*ast.Ident); !ok || kind.Name != "Experiment" {
		return p
	}
	p.from, p.to = line(body[0].Pos()), line(body[len(body)-1].Pos())-1
	for p.to > p.from && strings.TrimSpace(lines[p.to-1]) == "" {
		p.to--
	}
	return p
}
