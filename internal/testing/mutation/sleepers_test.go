package mutation

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testModule is a module with all that a mutant may change.
func testModule(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module testModule\n\ngo 1.26.0\n",
		"page/words.txt":   "good\n",
		"page/web/a.js":    "right\n",
		"page/web/b.js":    "left\n",
		"page/odd_test.go": "package page\n",
		"page/page.go": `package page

import "embed"

const Two = 2

//go:embed words.txt
var words string

//go:embed web
var web embed.FS

func Half(n int) int { return n / Two }

func (d *Door) Open() {
	d.open = true
}

type Door struct{ open bool }

func Count() (n int) {
again:
	if n++; n < 3 {
		goto again
	}
	return n
}

func Read(name string) string {
	text, _ := web.ReadFile("web/" + name)
	return string(text)
}
`,
		"page/page_test.go": `package page

import "testing"

func TestHalf(t *testing.T) {
	if Half(4) != 2 {
		t.Error("not half")
	}
}

func TestDoor(t *testing.T) {
	var d Door
	if d.Open(); !d.open {
		t.Error("shut")
	}
}

func TestCount(t *testing.T) {
	if Count() != 3 {
		t.Error("miscounted")
	}
}

func TestFiles(t *testing.T) {
	if words != "good\n" || Read("a.js") != "right\n" || Read("b.js") != "left\n" {
		t.Error(words, Read("a.js"), Read("b.js"))
	}
}
`,
	} {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

func TestMutants_BodiesOrFiles_AreCompiledTogether(t *testing.T) {
	root := testModule(t)
	folder := t.TempDir()
	wanted := map[string]bool{} // whether they are held
	for _, tc := range []struct {
		name, file, before, after, run string
		together                       bool
	}{
		{"body", "page/page.go", "func Half(n int) int { return n / Two }", "func Half(n int) int { return n }", "TestHalf", true},
		{"body-twice", "page/page.go", "func Half(n int) int { return n / Two }", "func Half(n int) int { return n * Two }", "TestHalf", true},
		{"method", "page/page.go", "\td.open = true", "\td.open = false", "TestDoor", true},
		{"text", "page/words.txt", "good", "bad", "TestFiles", true},
		{"folder", "page/web/a.js", "right", "wrong", "TestFiles", true},
		{"folder-too", "page/web/b.js", "left", "gone", "TestFiles", true},
		{"constant", "page/page.go", "const Two = 2", "const Two = 3", "TestHalf", false},
		{"signature", "page/page.go", "func Half(n int) int { return n / Two }", "func Half(n int64) int64 { return n }", "TestHalf", false},
		{"label", "page/page.go", "\tif n++; n < 3 {", "\tif n++; n < 2 {", "TestCount", false},
	} {
		text := "Mutation: something.\nKilled by: ./page -run " + tc.run + "\n\ndiff --git a/" + tc.file + " b/" + tc.file +
			"\n--- a/" + tc.file + "\n+++ b/" + tc.file + "\n@@ -1,1 +1,1 @@\n-" + tc.before + "\n+" + tc.after + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(folder, tc.name+".patch"), []byte(text), 0o600))
		wanted[tc.name] = tc.together
	}
	all, err := Load(folder)
	require.NoError(t, err)

	var out strings.Builder
	o := Options{Root: root, Out: &out, Parallel: 4}
	held, err := newTogether(t.Context(), o, all)
	require.NoError(t, err)
	t.Cleanup(held.close)
	for _, m := range all {
		require.Equal(t, wanted[filepath.Base(m.Name())], held.holds[m.Name()], m.Name())
	}
	_, err = Run(t.Context(), o, all)
	require.NoError(t, err)
	require.Contains(t, out.String(), "9 mutants, 9 killed")
}

func TestMutants_OneDoesNotCompile_OthersDo(t *testing.T) {
	temp := filepath.Join(t.TempDir(), "a long folder", strings.Repeat("longer than the path of a socket", 4))
	require.NoError(t, os.MkdirAll(temp, 0o700))
	t.Setenv("TMPDIR", temp) // as on a Mac, where the compiler shortens the paths of its errors
	fine, err := written(t, ". -run TestTwice", "\treturn 2 * n", "\treturn n")
	require.NoError(t, err)
	broken, err := written(t, ". -run TestTwice", "\treturn n", "\treturn \"n\"")
	require.NoError(t, err)
	broken.Path = filepath.Join(filepath.Dir(broken.Path), "broken.patch")
	require.NoError(t, os.WriteFile(broken.Path, []byte("another"), 0o600))

	var out strings.Builder
	_, err = Run(t.Context(), Options{Root: tiny(t), Out: &out}, []Mutant{fine, broken})
	require.NoError(t, err)
	require.Contains(t, out.String(), "not compiling")
	require.Contains(t, out.String(), "2 mutants, 1 killed, 1 not killed")
}

func TestGoFlags_OverlayInFolderWithSpaces_GoReadsThem(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a folder")
	require.NoError(t, os.Mkdir(folder, 0o700))
	overlay := filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, []byte("{}"), 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "list", "-tags=nomsgpack", ".")
	cmd.Env = append(os.Environ(), "GOFLAGS="+goFlags("-p=1", []string{"-overlay=" + overlay, "-ldflags=-X=a.b=c"}))
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
}
