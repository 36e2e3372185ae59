//nolint:gosmopolitan // these tests read Chinese documents
package repository_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/tools/lab"
	"example.com/seckill/internal/tools/lab/harness"
)

// chinese returns the Chinese documents, by their paths.
func chinese(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"README.zh-CN.md": read(t, "README.zh-CN.md")}
	paths, err := filepath.Glob(filepath.Join(root, "docs/zh/*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		name := strings.TrimPrefix(path, root+"/")
		all[name] = read(t, name)
	}
	return all
}

var (
	// notProse is code, and the target of a link.
	notProse  = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`|\\]\\([^)\n]*\\)")
	halfWidth = regexp.MustCompile(`\p{Han}[,:;?!()]|[,:;?!(]\p{Han}`)
)

func TestChineseDocuments_Prose_HasChinesePunctuation(t *testing.T) {
	for path, text := range chinese(t) {
		for _, m := range halfWidth.FindAllString(notProse.ReplaceAllString(text, "`"), -1) {
			t.Errorf("%s has half-width punctuation: %s", path, m)
		}
	}
}

// A unit of the stock is 份, 张 or 单. The text 您 is for buyers only.
func TestChineseDocuments_Words_AreThoseOfTheField(t *testing.T) {
	for path, text := range chinese(t) {
		if path == "README.zh-CN.md" {
			continue
		}
		for _, word := range []string{"您", "个单位", "栅栏", "机房", "裸请求"} {
			if strings.Contains(text, word) {
				t.Errorf("%s has %s, which is not the field's word", path, word)
			}
		}
	}
}

// readingFile is a heading of either page: the file and its minutes.
var readingFile = regexp.MustCompile(`(?m)^## \d+\. \[([^\]]+)\]\([^)]+\)(?:, (\d+) min|（(\d+) 分钟）)$`)

func TestChineseReading_Files_AreThoseOfTheEnglishPage(t *testing.T) {
	files := func(path string) (all []string) {
		for _, m := range readingFile.FindAllStringSubmatch(read(t, path), -1) {
			all = append(all, m[1]+" "+m[2]+m[3])
		}
		return all
	}
	english := files("docs/READING.md")
	require.NotEmpty(t, english)
	require.Equal(t, english, files("docs/zh/READING.md"))
}

// pitfalls returns the sections of docs/zh/PITFALLS.md that describe a pitfall each, by their headings.
func pitfalls(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, section := range regexp.MustCompile(`(?m)^#{2,3} `).Split(read(t, "docs/zh/PITFALLS.md"), -1) {
		heading, text, _ := strings.Cut(section, "\n")
		if regexp.MustCompile(`^\d+\. `).MatchString(heading) {
			all[heading] = text
		}
	}
	require.NotEmpty(t, all)
	return all
}

func TestPitfalls_Sections_HaveTheirFourParts(t *testing.T) {
	for heading, text := range pitfalls(t) {
		require.Regexp(t, `(?s)^\n- \*\*错误写法\*\*：.+\n- \*\*为什么错\*\*：.+\n- \*\*正确位置\*\*：.+\n`+
			"```sh\ngo run -tags nomsgpack ./cmd/seckill lab (run|gallery) ", text, heading)
	}
}

// The numbers that a section says are those of the lab.
func TestPitfalls_Experiments_AreAllThereWithTheirNumbers(t *testing.T) {
	sections := pitfalls(t)
	for _, e := range lab.All() {
		command, shown := "go run -tags nomsgpack ./cmd/seckill lab run "+e.Name+" ", ""
		for heading, text := range sections {
			if strings.Contains(text, command) {
				shown = heading
			}
		}
		if shown == "" {
			t.Errorf("docs/zh/PITFALLS.md does not show the experiment %s", e.Name)
			continue
		}
		m := regexp.MustCompile(`看到：(.+)，错误写法 (\d+)，正确写法 (\d+)。`).FindStringSubmatch(sections[shown])
		if m == nil {
			require.Equal(t, "defence-in-depth", e.Name, "an experiment of many cases has no pair of numbers")
			continue
		}
		r, err := lab.Recording(e.Name)
		require.NoError(t, err)
		require.NoError(t, counted(r, m[1], m[2], m[3]), shown)
	}
}

// counted returns an error unless a recording has these numbers under this name: of its first wrong case, and of its
// last right one.
func counted(r harness.Result, name, wrong, right string) error {
	var first, last *harness.Number
	for _, c := range r.Cases {
		for i, n := range c.Numbers {
			switch {
			case !n.Decides:
			case !c.Wrong:
				last = &c.Numbers[i]
			case first == nil:
				first = &c.Numbers[i]
			}
		}
	}
	if first == nil || last == nil {
		return fmt.Errorf("%s has no pair of numbers", r.Name)
	}
	for _, n := range []struct {
		number *harness.Number
		said   string
	}{{first, wrong}, {last, right}} {
		if n.number.Name.ZH != name || strconv.FormatInt(n.number.Value, 10) != n.said {
			return fmt.Errorf("%s has %s %d, and the page says %s %s", r.Name, n.number.Name.ZH, n.number.Value, name, n.said)
		}
	}
	return nil
}

var (
	// codeOf is a link to a file, and the functions in it that the text names.
	codeOf   = regexp.MustCompile("\\]\\(\\.\\./\\.\\./([^)#]+)\\) 的 (`[^`]+`(?:、`[^`]+`)*)")
	codeName = regexp.MustCompile("`([^`]+)`")
)

func TestChineseDocuments_NamedFunctions_AreInTheirFiles(t *testing.T) {
	named := 0
	for path, text := range chinese(t) {
		for _, m := range codeOf.FindAllStringSubmatch(text, -1) {
			source := read(t, m[1])
			for _, name := range codeName.FindAllStringSubmatch(m[2], -1) {
				named++
				declared := regexp.MustCompile(`(?m)^(local )?(func|function|type|var|const) (\([^)]*\) )?` + regexp.QuoteMeta(name[1]) + `\b`)
				if !declared.MatchString(source) {
					t.Errorf("%s names %s of %s, which is not there", path, name[1], m[1])
				}
			}
		}
	}
	require.Greater(t, named, 30)
}

// The experiment and the page name the same place of the program.
func TestPitfalls_Experiments_NameTheFileOfTheirPlace(t *testing.T) {
	sections := pitfalls(t)
	for _, e := range lab.All() {
		r, err := lab.Recording(e.Name)
		require.NoError(t, err)
		require.NotNil(t, r.Place, e.Name)
		for heading, text := range sections {
			if strings.Contains(text, "lab run "+e.Name+" ") && !strings.Contains(text, "["+r.Place.File+"]") {
				t.Errorf("%s does not name %s, the place of the experiment %s", heading, r.Place.File, e.Name)
			}
		}
	}
}
