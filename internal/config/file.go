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

// largestFile bounds what is read: a configuration is a few kilobytes.
const largestFile = 1 << 20

// readFile reads a configuration file of a sensible size.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w; --config wants a YAML file such as configs/seckill.yaml", err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory; --config wants the YAML file in it", path)
	}
	content, err := io.ReadAll(io.LimitReader(f, largestFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if len(content) > largestFile {
		return nil, fmt.Errorf("%s is larger than 1 MiB; --config wants a YAML file such as configs/seckill.yaml", path)
	}
	return content, nil
}

// fileParser is koanf's parser for the file. It goes through the nodes of the
// document, and not through a decoded map, to know the line of a key and to
// see what a map would swallow: duplicates, anchors, a second document.
type fileParser struct {
	path  string
	wrong *problems
}

// Unmarshal returns the known keys, nested, with values of the keys' types.
func (p fileParser) Unmarshal(content []byte) (map[string]any, error) {
	out := map[string]any{}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var doc yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return out, nil // nothing but comments: the defaults
	} else if err != nil {
		return nil, p.notYAML(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, p.notYAML(err)
		}
		p.say(doc.Line, "holds more than one document: keep what is above the line ---")
	}
	root := doc.Content[0]
	if isNull(root) {
		return out, nil
	}
	if root.Kind != yaml.MappingNode {
		p.say(root.Line, "must hold keys and values, as configs/seckill.yaml does")
		return out, nil
	}
	p.eachPair(root, "", func(name string, line int, value *yaml.Node) {
		if section := p.section(name, line, value); len(section) > 0 {
			out[name] = section
		}
	})
	return out, nil
}

// Marshal is not used.
func (fileParser) Marshal(map[string]any) ([]byte, error) {
	return nil, errors.New("the configuration is not written")
}

// section reads the keys below a name such as http.
func (p fileParser) section(name string, line int, node *yaml.Node) map[string]any {
	if !slices.Contains(sections, name) {
		p.unknown(line, name)
		return nil
	}
	if isNull(node) {
		return nil // a section whose keys are all commented out
	}
	if node.Kind != yaml.MappingNode {
		p.say(line, name+" is a section: write its keys below it, indented", name)
		return nil
	}
	out := map[string]any{}
	p.eachPair(node, name+".", func(path string, line int, value *yaml.Node) {
		k, ok := byPath[path]
		if !ok {
			p.unknown(line, path)
			return
		}
		g, instead := read(value)
		if instead == "" {
			var converted any
			if converted, instead = k.convert(g); instead == "" {
				out[strings.TrimPrefix(path, name+".")] = converted
				return
			}
		}
		p.say(line, path+" "+instead, path)
	})
	return out
}

// eachPair calls use for every key of a mapping that is new and plain.
func (p fileParser) eachPair(mapping *yaml.Node, prefix string, use func(path string, line int, value *yaml.Node)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		path := prefix + key.Value
		switch first, twice := seen[key.Value]; {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			p.say(key.Line, "holds a key that is not a plain word")
		case twice:
			p.say(key.Line, fmt.Sprintf("%s is set twice, first in line %d: remove one", shown(path), first), path)
		default:
			seen[key.Value] = key.Line
			use(path, key.Line, value)
		}
	}
}

// read takes a scalar or a list of scalars from a node.
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

// unknown adds a problem for a key that does not exist, with its new name or the
// nearest key that does.
func (p fileParser) unknown(line int, path string) {
	if now, ok := renamed[path]; ok {
		p.say(line, path+" is called "+now+" now", path, now)
		return
	}
	if upper, lower, ok := strings.Cut(path, "."); ok && byPath[path].Path != "" {
		p.say(line, fmt.Sprintf("%s is two levels: write %s below %s, indented", shown(path), lower, upper), path)
		return
	}
	text := "unknown key " + shown(path) + ": "
	if near, ok := nearest(path, append(paths(), sections...)); ok {
		p.say(line, text+"did you mean "+near+"?", path, near)
		return
	}
	p.say(line, text+"remove it, or see configs/seckill.yaml for the keys", path)
}

// say notes a problem of the file, with its line.
func (p fileParser) say(line int, text string, keys ...string) {
	p.wrong.add(fmt.Sprintf("%s:%d: %s", p.path, line, text), keys...)
}

var lineNumber = regexp.MustCompile(`line (\d+)`)

// notYAML keeps the line of the parser's error and drops its words, which may
// quote what stands there.
func (p fileParser) notYAML(err error) error {
	where := ""
	if m := lineNumber.FindStringSubmatch(err.Error()); m != nil {
		where = " near line " + m[1]
	}
	return &KeyError{Text: p.path + " is not valid YAML" + where + ": check the indentation, the colons and the quotes there"}
}
