// Package repository reads the commands that the documents show. Its tests hold the repository as a whole: which
// package may import which, whether the documents are true, and the words.
package repository

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Command is one simple command of a block of a document, as a shell reads it.
type Command struct {
	Document string   // path of the document, from the root of the module
	Line     int      // number of the line on which the command starts
	Text     string   // the line, with its continuation lines
	Env      []string // the assignments before the command
	Args     []string // the words without redirections; empty for assignments only
}

// String returns the place and the text of the command.
func (c Command) String() string { return fmt.Sprintf("%s:%d: %s", c.Document, c.Line, c.Text) }

// Program returns the arguments of a command that runs the program seckill, and reports whether it does.
func (c Command) Program() ([]string, bool) {
	for _, start := range [][]string{{"go", "run", "-tags", "nomsgpack", "./cmd/seckill"}, {"bin/seckill"}, {"seckill"}} {
		if len(c.Args) >= len(start) && strings.Join(c.Args[:len(start)], " ") == strings.Join(start, " ") {
			return c.Args[len(start):], true
		}
	}
	return nil, false
}

// documents are the pages with commands for users, as patterns, in reading order.
var documents = []string{"README.md", "README.zh-CN.md", "loadtest/README.md", "docs/zh/READING.md", "docs/zh/*.md"}

// Commands returns the commands in the sh blocks of the documents for users, in reading order. The path root is that
// of the module.
func Commands(root string) ([]Command, error) {
	var all []Command
	read := map[string]bool{}
	for _, pattern := range documents {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", pattern, err)
		}
		for _, path := range paths {
			if read[path] {
				continue
			}
			read[path] = true
			commands, err := commandsOf(root, path)
			if err != nil {
				return nil, err
			}
			all = append(all, commands...)
		}
	}
	return all, nil
}

func commandsOf(root, path string) ([]Command, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a document: %w", err)
	}
	name, err := filepath.Rel(root, path)
	if err != nil {
		return nil, fmt.Errorf("name a document: %w", err)
	}
	var all []Command
	var unfinished string // the lines before, each of which ends in a backslash
	inside := false
	for i, line := range strings.Split(string(text), "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(trimmed, "```"):
			inside = trimmed == "```sh"
			continue
		case !inside:
			continue
		case strings.HasSuffix(line, `\`):
			unfinished += line + "\n"
			continue
		}
		line, unfinished = unfinished+line, ""
		found, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		for _, c := range found {
			c.Document, c.Line, c.Text = name, i+1-strings.Count(line, "\n"), strings.TrimSpace(line)
			all = append(all, c)
		}
	}
	return all, nil
}

// parser splits a line of a shell into simple commands.
type parser struct {
	text  []rune
	found []Command

	current  Command
	word     strings.Builder
	isWord   bool // word has a start, perhaps an empty one as in ''
	isQuoted bool // the word starts with a quote, so it is no assignment
	isFile   bool // the next word is the file of a redirection
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// parse reads quotes, comments, substitutions, redirections and the operators between commands. It knows no
// other syntax of a shell.
func parse(line string) ([]Command, error) {
	p := parser{text: []rune(line)}
	for len(p.text) > 0 {
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	p.endCommand()
	return p.found, nil
}

func (p *parser) next() error {
	r := p.take()
	switch {
	case r == '\'' || r == '"':
		p.isQuoted = p.isQuoted || !p.isWord
		p.isWord = true
		return p.quoted(r)
	case r == '\\':
		if len(p.text) > 0 {
			if next := p.take(); next != '\n' {
				p.add(next)
			}
		}
	case r == '$' && len(p.text) > 0 && p.text[0] == '(':
		return p.substitution()
	case strings.ContainsRune(" \t\n", r):
		p.endWord()
	case r == '#' && !p.isWord:
		p.text = nil
	case strings.ContainsRune(";|&", r):
		p.endCommand()
	case r == '>' || r == '<':
		if p.word.String() == "2" { // the descriptor, as in 2>file
			p.word.Reset()
			p.isWord = false
		}
		p.endWord()
		for len(p.text) > 0 && strings.ContainsRune(">&", p.text[0]) {
			p.take()
		}
		p.isFile = true
	case r == '(' || r == ')' || r == '`':
		return fmt.Errorf("the character %q outside quotes is not supported", r)
	default:
		p.add(r)
	}
	return nil
}

func (p *parser) take() rune {
	r := p.text[0]
	p.text = p.text[1:]
	return r
}

func (p *parser) add(r rune) {
	p.isWord = true
	p.word.WriteRune(r)
}

// quoted reads to the end of a quotation.
func (p *parser) quoted(quote rune) error {
	for len(p.text) > 0 {
		r := p.take()
		switch {
		case r == quote:
			return nil
		case quote == '"' && r == '\\' && len(p.text) > 0:
			p.add(p.take())
		case quote == '"' && r == '$' && len(p.text) > 0 && p.text[0] == '(':
			if err := p.substitution(); err != nil {
				return err
			}
		default:
			p.add(r)
		}
	}
	return fmt.Errorf("the quotation %c has no end", quote)
}

// substitution reads $(…) behind its dollar, whose commands are found as well.
func (p *parser) substitution() error {
	p.take()
	depth, quote := 1, rune(0)
	for i, r := range p.text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
		case r == '\'' || r == '"':
			quote = r
		case r == '(':
			depth++
		case r == ')':
			if depth--; depth > 0 {
				continue
			}
			inner, err := parse(string(p.text[:i]))
			if err != nil {
				return err
			}
			p.found = append(p.found, inner...)
			p.isWord = true
			p.word.WriteString("$(" + string(p.text[:i]) + ")")
			p.text = p.text[i+1:]
			return nil
		}
	}
	return errors.New("the substitution $( has no end")
}

func (p *parser) endWord() {
	word := p.word.String()
	switch {
	case !p.isWord:
		return
	case p.isFile:
		p.isFile = false
	case !p.isQuoted && len(p.current.Args) == 0 && assignment.MatchString(word):
		p.current.Env = append(p.current.Env, word)
	default:
		p.current.Args = append(p.current.Args, word)
	}
	p.word.Reset()
	p.isWord, p.isQuoted = false, false
}

func (p *parser) endCommand() {
	p.endWord()
	if len(p.current.Env)+len(p.current.Args) > 0 {
		p.found = append(p.found, p.current)
	}
	p.current = Command{}
}
