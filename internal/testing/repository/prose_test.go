package repository_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The bounds of a text. Well-kept projects stay below them: a mean sentence has 13 to 17 words there, and 3 to 6 % of
// the sentences have more than 30.
const (
	meanSentence    = 20.0 // words
	longSentence    = 30   // words
	longSentences   = 12.0 // percent of the sentences
	longParagraph   = 100  // words
	longParagraphs  = 2    // of a document; a comment has none
	mannersAtMost   = 5.0  // per 1,000 words
	headings        = 6.0  // per 1,000 words, in documents of more than headedFrom words
	headedFrom      = 400
	tooShortToJudge = 120 // words
	commitSubject   = 72  // characters
)

var (
	wordOfProse = regexp.MustCompile(`[A-Za-z0-9_’'./%-]*[A-Za-z][A-Za-z0-9_’'./%-]*`)
	// endOfSentence and beginOfSentence stand on both sides of the space between two sentences.
	endOfSentence   = regexp.MustCompile("[.!?:][\"')\\]*_`]*$")
	beginOfSentence = regexp.MustCompile("^[\"'(\\[*_`]*[A-Z0-9`\\[]")
	// manner matches the turns of phrase that CONTRIBUTING.md gives up. They make a reader read a sentence twice.
	manner = regexp.MustCompile(`(?i)\b(?:what|whatever|whoever|whom) (?:is|was|are|were|has|had|have|it|the|they|a|an|no|needs|comes|came|can|` +
		`could|may|must|one|each|this|that|we|he|costs?|makes?|stands?|waits?)\b` +
		`|\b(?:nobody|somebody|everybody|anybody|whoever)\b|in place of|, too\b|\balone\b|\bbesides?\b` +
		`|\b(?:is|are|was|were|be|been) (?:told|asked|said|seen|reckoned|looked|heard|lent)\b|\b(?:so many|as many|so much)\b`)
	beginsLikeAQuestion = regexp.MustCompile(`^(?:What|Who|Whom|Whose)\b`)
	anyHeading          = regexp.MustCompile(`^#{1,6} `)
	listItem            = regexp.MustCompile(`^(?:[-*+]|\d+\.)\s+(.*)`)
	linkDefinition      = regexp.MustCompile(`^\[[^\]]+\]:`)
	linkText            = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)
	comment             = regexp.MustCompile(`^\s*// ?(.*)$`)
	codeInComment       = regexp.MustCompile(`^(?:\t|   |go:|nolint)`)
	subject             = regexp.MustCompile(`^[A-Za-z0-9_./, -]+: \S.*[^.]$`)
)

// prose is a text without its code, tables and pictures.
type prose struct {
	paragraphs []string
	headings   int
}

// markdown returns the prose of a document.
func markdown(text string) (p prose) {
	var paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			p.paragraphs = append(p.paragraphs, linkText.ReplaceAllString(strings.Join(paragraph, " "), "$1"))
		}
		paragraph = nil
	}
	code := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		fence := strings.HasPrefix(line, "```")
		if fence {
			code = !code
		}
		switch {
		case code && !fence:
		case anyHeading.MatchString(line):
			p.headings++
			end()
		case fence, line == "", line[0] == '|', line[0] == '<', strings.HasPrefix(line, "!["), linkDefinition.MatchString(line):
			end()
		case listItem.MatchString(line):
			end()
			paragraph = []string{listItem.FindStringSubmatch(line)[1]}
		default:
			paragraph = append(paragraph, line)
		}
	}
	end()
	return p
}

// comments returns the prose of a Go file.
func comments(text string) (p prose) {
	var paragraph []string
	for line := range strings.SplitSeq(text+"\n", "\n") {
		m := comment.FindStringSubmatch(line)
		if m != nil && strings.TrimSpace(m[1]) != "" && !codeInComment.MatchString(m[1]) {
			paragraph = append(paragraph, strings.TrimSpace(m[1]))
			continue
		}
		if len(paragraph) > 0 {
			p.paragraphs = append(p.paragraphs, strings.Join(paragraph, " "))
		}
		paragraph = nil
	}
	return p
}

// sentences splits a paragraph. A sentence has at least three words.
func sentences(paragraph string) (all []string) {
	begin := 0
	add := func(s string) {
		s = strings.TrimRight(s, "\"')]*_`")
		if len(wordOfProse.FindAllString(s, 3)) > 2 {
			all = append(all, s)
		}
	}
	for i, r := range paragraph {
		if r == ' ' && i > begin && endOfSentence.MatchString(paragraph[begin:i]) && beginOfSentence.MatchString(paragraph[i+1:]) {
			add(paragraph[begin:i])
			begin = i + 1
		}
	}
	add(paragraph[begin:])
	return all
}

// manners counts the turns of phrase of a sentence.
func manners(sentence string) int {
	found := manner.FindAllStringIndex(sentence, -1)
	if beginsLikeAQuestion.MatchString(sentence) && !strings.HasSuffix(sentence, "?") && (len(found) == 0 || found[0][0] > 0) {
		return len(found) + 1
	}
	return len(found)
}

// check reports each bound that a text misses.
func (p prose) check(t *testing.T, path string, longParagraphs int) {
	t.Helper()
	words, inSentences, count, long, big, marks := 0, 0, 0, 0, 0, 0
	var examples []string
	for _, paragraph := range p.paragraphs {
		n := len(wordOfProse.FindAllString(paragraph, -1))
		words += n
		if n > longParagraph {
			big++
		}
		for _, s := range sentences(paragraph) {
			count++
			length := len(wordOfProse.FindAllString(s, -1))
			inSentences += length
			found := manners(s)
			marks += found
			if length > longSentence {
				long++
			}
			if found > 0 || length > longSentence {
				examples = append(examples, s)
			}
		}
	}
	if words < tooShortToJudge || count == 0 {
		return
	}
	bound := func(what string, is, most float64) {
		if is > most {
			t.Errorf("%s: %s: %.1f, at most %.0f. CONTRIBUTING.md has the style guide. Reword some of these:\n%s",
				path, what, is, most, strings.Join(examples, "\n"))
		}
	}
	bound("words in a sentence, on average", float64(inSentences)/float64(count), meanSentence)
	bound("percent of the sentences with more than 30 words", 100*float64(long)/float64(count), longSentences)
	bound("paragraphs of more than 100 words", float64(big), float64(longParagraphs))
	bound("turns of phrase that the style guide gives up, per 1,000 words", 1000*float64(marks)/float64(words), mannersAtMost)
	if longParagraphs > 0 && words > headedFrom && 1000*float64(p.headings)/float64(words) < headings {
		t.Errorf("%s: %d headings for %d words", path, p.headings, words)
	}
}

func TestProse_Documents_KeepTheBounds(t *testing.T) {
	for _, d := range documents(t) {
		if !strings.Contains(d.path, "zh") {
			markdown(d.text).check(t, d.path, longParagraphs)
		}
	}
}

func TestProse_Comments_KeepTheBounds(t *testing.T) {
	for path, text := range sources(t, ".go") {
		if !strings.HasSuffix(path, "_test.go") {
			comments(text).check(t, path, 0)
		}
	}
}

func TestProse_TextsThatMissABound_AreCounted(t *testing.T) {
	sentence := "What is refused was seen by nobody, and as many as one may are told of it, too. "
	p := markdown("# Title\n\n" + strings.Repeat(sentence, 10) + "\n\n| a | table |\n\n```\ncode\n```\n- an item\n  of two lines\n")
	require.Len(t, p.paragraphs, 2)
	require.Equal(t, "an item of two lines", p.paragraphs[1])
	require.Equal(t, 1, p.headings)
	require.Len(t, sentences(p.paragraphs[0]), 10)
	require.Equal(t, 6, manners(sentence))
	require.Equal(t, 1, manners("Who comes late waits."))
	require.Zero(t, manners("Who comes late?"))
	require.Equal(t, []string{"One two. three."}, comments("// One two.\n// three.\nfunc x() {}\n\n//nolint:all\n").paragraphs)
	require.Equal(t, []string{"The first one ends.", "The `second` one is here"}, sentences("The first one ends. The `second` one is here"))
}

// The subjects of the branch's commits say which package changes, and how. An archive of the files has no commits.
func TestProse_CommitSubjects_NameAPackageAndAChange(t *testing.T) {
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		return
	}
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", root}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	args := []string{"log", "--no-merges", "--format=%s", "-n30"}
	if base, err := git("merge-base", "HEAD", "origin/main"); err == nil {
		args = []string{"log", "--no-merges", "--format=%s", base + "..HEAD"}
	}
	subjects, err := git(args...)
	if err != nil {
		return // git is not installed, or knows no commit
	}
	for line := range strings.Lines(subjects) {
		line = strings.TrimSpace(line)
		if !subject.MatchString(line) || len([]rune(line)) > commitSubject {
			t.Errorf("the commit %q is not \"package: verb phrase\" of at most %d characters", line, commitSubject)
		}
	}
}
