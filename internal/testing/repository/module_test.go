package repository_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const otherPath = "github.com/owner/shop.v1"

// TestModulePath_Renamed_GoInstallAccepts gives a copy of the tree another module path with the
// documented command, publishes the copy to a proxy in a folder, and asks go to install it from there.
func TestModulePath_Renamed_GoInstallAccepts(t *testing.T) {
	tree := copyOfTree(t)
	old := strings.TrimSpace(run(t, tree, nil, ".ci/module"))
	require.NoError(t, module.CheckPath(old), "the path of this tree")

	run(t, tree, nil, ".ci/module", otherPath)

	require.Equal(t, otherPath+"\n", run(t, tree, nil, ".ci/module"))
	require.Empty(t, filesThatContain(t, tree, old), "files with the old path")
	for _, dir := range []string{".", "internal/testing/lockbench", "loadtest"} {
		require.Contains(t, run(t, filepath.Join(tree, dir), nil, "go", "list", "-m"), otherPath)
	}
	require.Empty(t, run(t, tree, nil, "gofmt", "-l", "."))

	// With -n go resolves the version, unpacks the module, loads every package and embedded file,
	// and prints the commands of the build instead of running them: those are the same as at home.
	cache := strings.TrimSpace(run(t, tree, nil, "go", "env", "GOMODCACHE"))
	published := fmt.Sprintf("v0.0.%d", time.Now().UnixNano()) // another run may have been killed before it cleaned up
	t.Cleanup(func() {
		require.NoError(t, os.RemoveAll(filepath.Join(cache, otherPath+"@"+published)))
		require.NoError(t, os.RemoveAll(filepath.Join(cache, "cache", "download", otherPath)))
	})
	env := []string{
		"GOPROXY=file://" + publish(t, tree, published) + ",file://" + filepath.Join(cache, "cache", "download"),
		"GOSUMDB=off", "GOFLAGS=-modcacherw", "GOBIN=" + t.TempDir(),
	}
	require.Contains(t, run(t, t.TempDir(), env, "go", "install", "-n", otherPath+"/cmd/seckill@latest"), "/link ")
}

func TestModulePath_Invalid_IsRefused(t *testing.T) {
	tree := t.TempDir()
	for _, file := range []string{".ci/module", "go.mod"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(tree, ".ci"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(tree, file), text, 0o755))
	}
	for _, wrong := range []string{"", "seckill", "github.com", "github.com/you/seckill/v2", "https://github.com/you/x", "a.b/c d", "a.b//c"} {
		out, err := command(t, tree, nil, ".ci/module", wrong).CombinedOutput()
		require.Error(t, err, wrong)
		require.Equal(t, fmt.Sprintf("not a module path: '%s'; give one like github.com/you/seckill\n", wrong), string(out))
	}
}

// copyOfTree returns a copy of what belongs to the repository: not .git, and not bin.
func copyOfTree(t *testing.T) string {
	t.Helper()
	tree := t.TempDir()
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, e := range entries {
		if from, to := filepath.Join(root, e.Name()), filepath.Join(tree, e.Name()); e.IsDir() {
			if e.Name() != ".git" && e.Name() != "bin" {
				require.NoError(t, os.CopyFS(to, os.DirFS(from)))
			}
		} else if e.Type().IsRegular() && e.Name() != ".git" {
			text, err := os.ReadFile(from)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(to, text, 0o600))
		}
	}
	return tree
}

// publish puts the tree as a version of its module into a folder, laid out as a proxy answers:
// https://go.dev/ref/mod#goproxy-protocol.
func publish(t *testing.T, tree, version string) (proxy string) {
	t.Helper()
	proxy = t.TempDir()
	dir := filepath.Join(proxy, filepath.FromSlash(otherPath), "@v")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	mod, err := os.ReadFile(filepath.Join(tree, "go.mod"))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"list": version + "\n", version + ".info": `{"Version":"` + version + `"}`, version + ".mod": string(mod),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	file, err := os.Create(filepath.Join(dir, version+".zip"))
	require.NoError(t, err)
	require.NoError(t, zip.CreateFromDir(file, module.Version{Path: otherPath, Version: version}, tree))
	require.NoError(t, file.Close())
	return proxy
}

func filesThatContain(t *testing.T, tree, text string) (found []string) {
	t.Helper()
	out, err := command(t, tree, nil, "grep", "-rlIF", text, ".").Output()
	if err == nil { // grep fails when it finds nothing
		found = strings.Fields(string(out))
	}
	return found
}

func command(t *testing.T, dir string, env []string, name string, args ...string) *exec.Cmd {
	t.Helper()
	if strings.HasPrefix(name, ".ci/") {
		name = filepath.Join(dir, name)
	}
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	return c
}

// run returns what the command prints, on both outputs.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := command(t, dir, env, name, args...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
	return string(out)
}
