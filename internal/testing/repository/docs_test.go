package repository_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

// root is the module's folder, as the tests of this package see it.
const root = "../../.."

// document is one Markdown file, by its path from the root.
type document struct{ path, text string }

func documents(t *testing.T) []document {
	t.Helper()
	var all []document
	for path, text := range sources(t, ".md") {
		all = append(all, document{path, text})
	}
	require.NotEmpty(t, all)
	return all
}

// sources returns the text of every file with the extension, by its path from the root.
func sources(t *testing.T, ext string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ext {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			all[rel] = string(text)
		}
		return nil
	}))
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(text)
}

var (
	linked   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	ticked   = regexp.MustCompile("`([^`\n]+)`")
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	ourPath  = regexp.MustCompile(`^(?:\./)?((?:internal|cmd|configs|sql|loadtest|docs|\.ci)/[\w./-]*\w)$`)
	testName = regexp.MustCompile(`\bTest[A-Z]\w+`)
	// benchmark is the pattern that go test is told.
	benchmark = regexp.MustCompile(`-bench (\w+)`)
	metric    = regexp.MustCompile(`\bseckill_[a-z_]+`)
	variable  = regexp.MustCompile(`\bSECKILL_[A-Z_]+__[A-Z_]+`)
)

func TestDocuments_Links_LeadSomewhere(t *testing.T) {
	for _, d := range documents(t) {
		for _, m := range linked.FindAllStringSubmatch(d.text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := d.path
			if target != "" {
				path = filepath.Join(filepath.Dir(d.path), target)
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s links to %s, which is not there", d.path, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, path)), anchor) {
				t.Errorf("%s links to %s, and that has no such heading", d.path, m[1])
			}
		}
	}
}

// anchors returns the headings of a text as links name them.
func anchors(text string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.ReplaceAll(regexp.MustCompile(`[^\p{L}\p{N}\s_-]`).ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// What the program is asked to leave in bin is not there before it was.
func TestDocuments_FilesAndPackages_Exist(t *testing.T) {
	for _, d := range documents(t) {
		for _, m := range ticked.FindAllStringSubmatch(d.text, -1) {
			for word := range strings.FieldsSeq(m[1]) {
				p := ourPath.FindStringSubmatch(word)
				if p == nil || strings.HasPrefix(p[1], "loadtest/report") {
					continue
				}
				if _, err := os.Stat(filepath.Join(root, p[1])); err != nil {
					t.Errorf("%s names %s, which is not there", d.path, p[1])
				}
			}
		}
	}
}

func TestArchitecture_Packages_AreAllListed(t *testing.T) {
	told := read(t, "docs/ARCHITECTURE.md")
	for path := range sources(t, ".go") {
		parts := strings.Split(path, "/")
		if len(parts) < 3 || parts[0] != "internal" {
			continue
		}
		folder := "internal/" + parts[1]
		if kind(folder+"/") != "sale" && len(parts) > 3 {
			folder += "/" + parts[2]
		}
		if !strings.Contains(told, "](../"+folder+")") {
			t.Errorf("docs/ARCHITECTURE.md does not tell of %s", folder)
		}
	}
}

func TestDocuments_TestsAndBenchmarks_Exist(t *testing.T) {
	var tests strings.Builder
	for path, text := range sources(t, ".go") {
		if strings.HasSuffix(path, "_test.go") {
			tests.WriteString(text)
		}
	}
	for _, d := range documents(t) {
		for _, name := range testName.FindAllString(d.text, -1) {
			if !strings.Contains(tests.String(), "func "+name) && !slices.Contains([]string{"TestName", "TestSomething", "TestMain", "TestSubject_Condition_Result"}, name) {
				t.Errorf("%s names the test %s, which is not there", d.path, name)
			}
		}
		for _, m := range benchmark.FindAllStringSubmatch(d.text, -1) {
			if !regexp.MustCompile(`func Benchmark\w*` + m[1]).MatchString(tests.String()) {
				t.Errorf("%s names the benchmark %s, which is not there", d.path, m[1])
			}
		}
	}
}

// A README is read to its end.
func TestREADMEs_Length_IsBounded(t *testing.T) {
	for _, path := range []string{"README.md", "README.zh-CN.md"} {
		require.LessOrEqual(t, strings.Count(read(t, path), "\n"), 160, path)
	}
}

// configs/seckill.yaml holds every key: a test of package config compares the two.
func TestDocuments_ConfigurationKeys_Exist(t *testing.T) {
	keys, variables, families := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, k := range config.Keys() {
		family, _, _ := strings.Cut(k.Path, ".")
		keys[k.Path], variables[k.Variable], variables[k.FileVariable()], families[family] = true, true, true, true
	}
	shape := regexp.MustCompile(`^([a-z]+)\.[a-z_]+$`)
	for _, d := range documents(t) {
		if d.path == "CHANGELOG.md" { // it names removed keys
			continue
		}
		for _, m := range ticked.FindAllStringSubmatch(d.text, -1) {
			word, _, _ := strings.Cut(m[1], ":")
			p := shape.FindStringSubmatch(word)
			if p != nil && families[p[1]] && !keys[word] && filepath.Ext(word) != ".go" && !isPoint(word) {
				t.Errorf("%s names the key %s, which is not there", d.path, word)
			}
		}
		for _, name := range variable.FindAllString(d.text, -1) {
			if !variables[name] {
				t.Errorf("%s names the variable %s, which is not there", d.path, name)
			}
		}
	}
}

// isPoint reports whether a word is a place of the order path and not a key, as lock.after.
func isPoint(word string) bool {
	return strings.HasSuffix(word, ".before") || strings.HasSuffix(word, ".during") || strings.HasSuffix(word, ".after")
}

func TestDocuments_Metrics_AreAllInMonitoringAndExist(t *testing.T) {
	there := map[string]bool{}
	for path, text := range sources(t, ".go") {
		if strings.HasPrefix(path, "internal/observe/metrics/") && !strings.HasSuffix(path, "_test.go") {
			for _, m := range regexp.MustCompile(`"(seckill_[a-z_]+)"`).FindAllStringSubmatch(text, -1) {
				there[m[1]] = true
			}
		}
	}
	require.NotEmpty(t, there)
	told := metric.FindAllString(read(t, "docs/MONITORING.md"), -1)
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if !slices.Contains(told, name) {
			t.Errorf("docs/MONITORING.md lacks the metric %s", name)
		}
	}
	for _, d := range documents(t) {
		if d.path == "CHANGELOG.md" {
			continue
		}
		for _, name := range metric.FindAllString(d.text, -1) {
			if !there[name] && !there[strings.TrimSuffix(name, "_")] {
				t.Errorf("%s names the metric %s, which is not there", d.path, name)
			}
		}
	}
}
