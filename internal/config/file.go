package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// largestFile is the limit of a file in bytes. A configuration has a few kilobytes.
const largestFile = 1 << 20

// readFile reads a configuration file of a sensible size.
func readFile(path string) ([]byte, error) {
	opened, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w; --config wants a YAML file such as configs/seckill.yaml", err)
	}
	defer func() { _ = opened.Close() }()
	if info, err := opened.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory; --config wants the YAML file in it", path)
	}
	content, err := io.ReadAll(io.LimitReader(opened, largestFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if len(content) > largestFile {
		return nil, fmt.Errorf("%s is larger than 1 MiB; --config wants a YAML file such as configs/seckill.yaml", path)
	}
	return content, nil
}

// file reads the configuration file into a Config. It walks the nodes of the document and not
// a decoded map. So it has the line of each key, and it finds duplicates, anchors and a second
// document.
type file struct {
	path  string
	into  *Config
	wrong *problems
}

// read sets the keys that the document has.
func (f file) read(content []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var doc yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil // nothing but comments: the defaults
	} else if err != nil {
		return f.notYAML(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		if err != nil {
			return f.notYAML(err)
		}
		f.say(doc.Line, "holds more than one document: keep what is above the line ---")
	}
	root := doc.Content[0]
	if isNull(root) {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		f.say(root.Line, "must hold keys and values, as configs/seckill.yaml does")
		return nil
	}
	f.eachPair(root, "", f.section)
	return nil
}

// section sets the keys below a name such as http.
func (f file) section(name string, line int, node *yaml.Node) {
	switch {
	case name == oldSection && node.Kind == yaml.MappingNode:
		f.eachPair(node, name+".", f.key)
	case !slices.Contains(sections, name):
		f.unknown(line, name)
	case isNull(node): // a section whose keys are all commented out
	case node.Kind != yaml.MappingNode:
		f.say(line, name+" is a section: write its keys below it, indented", name)
	default:
		f.eachPair(node, name+".", f.key)
	}
}

// key sets one key.
func (f file) key(path string, line int, node *yaml.Node) {
	k, ok := byPath[path]
	if !ok {
		f.unknown(line, path)
		return
	}
	g, instead := read(node)
	if instead == "" {
		var converted any
		if converted, instead = k.convert(g); instead == "" {
			k.set(f.into, converted)
			return
		}
	}
	f.say(line, path+" "+instead, path)
}

// eachPair calls use for every key of a mapping that is new and plain.
func (f file) eachPair(mapping *yaml.Node, prefix string, use func(path string, line int, value *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		path := prefix + key.Value
		switch first, twice := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			f.say(key.Line, "holds a key that is not a plain word")
		case twice:
			f.say(key.Line, fmt.Sprintf("%s is set twice, first in line %d: remove one", shown(path), first), path)
		default:
			seen[key.Value] = key.Line
			use(path, key.Line, value)
		}
	}
}

// read returns the scalar or the list of scalars of a node, or what to write instead.
func read(node *yaml.Node) (g given, instead string) {
	switch {
	case isNull(node):
		return g, `has no value: write one ("" for an empty text), or remove the line`
	case node.Kind == yaml.ScalarNode:
		return given{text: node.Value}, ""
	case node.Kind == yaml.SequenceNode:
		g = given{many: true, list: []string{}}
		for _, item := range node.Content {
			if item.Kind != yaml.ScalarNode || isNull(item) {
				return g, "must be a list of plain texts"
			}
			g.list = append(g.list, item.Value)
		}
		return g, ""
	case node.Kind == yaml.AliasNode:
		return g, "is an alias: write the value itself"
	default:
		return g, "takes a value and has no keys below it"
	}
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.Tag == "!!null"
}

// unknown adds a problem for a key that does not exist. The problem has what you do instead of a removed key, or the
// nearest key that exists.
func (f file) unknown(line int, path string) {
	if advice, ok := adviceFor(path); ok {
		f.say(line, path+" is gone: "+advice, path)
		return
	}
	if upper, lower, ok := strings.Cut(path, "."); ok && byPath[path].Path != "" {
		f.say(line, fmt.Sprintf("%s is two levels: write %s below %s, indented", shown(path), lower, upper), path)
		return
	}
	text := "unknown key " + shown(path) + ": "
	if near, ok := Nearest(path, append(paths(), sections...)); ok {
		f.say(line, text+"did you mean "+near+"?", path, near)
		return
	}
	f.say(line, text+"remove it, or see configs/seckill.yaml for the keys", path)
}

// say adds a problem of the file, with its line.
func (f file) say(line int, text string, keys ...string) {
	f.wrong.add(fmt.Sprintf("%s:%d: %s", f.path, line, text), keys...)
}

var lineNumber = regexp.MustCompile(`line (\d+)`)

// notYAML keeps the line of the parser's error and drops its words, which may
// quote the value.
func (f file) notYAML(err error) error {
	where := ""
	if m := lineNumber.FindStringSubmatch(err.Error()); m != nil {
		where = " near line " + m[1]
	}
	return &KeyError{Text: f.path + " is not valid YAML" + where + ": check the indentation, the colons and the quotes there"}
}
