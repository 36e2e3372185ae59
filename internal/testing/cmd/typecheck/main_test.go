package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// lib is a module with a call that Windows lacks, in a file for every system and in a test of every system.
func lib(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":        "module lib\n\ngo 1.26\n",
		"lib.go":        "package lib\n\nimport \"syscall\"\n\nfunc Lock() error { return syscall.Flock(0, 0) }\n",
		"lib_test.go":   "package lib\n\nimport \"syscall\"\n\nfunc id() int { return syscall.Gettid() }\n",
		"lib_linux.go":  "package lib\n\nfunc linux() {}\n",
		"lib_tagged.go": "//go:build tagged\n\npackage lib\n\nvar tagged int = \"\"\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestCheck_CallThatASystemLacks_IsAnErrorOfThatSystem(t *testing.T) {
	dir := lib(t)
	for target, want := range map[string][]string{
		"linux/arm64":   nil,
		"darwin/arm64":  {"undefined: syscall.Gettid"},
		"windows/amd64": {"undefined: syscall.Flock", "undefined: syscall.Gettid"},
	} {
		found, err := check(t.Context(), dir, target, "")
		require.NoError(t, err)
		require.Len(t, found, len(want), "%s: %v", target, found)
		for i, text := range want {
			require.Contains(t, found[i], text, target)
		}
	}
}

func TestCheck_Tags_SelectFiles(t *testing.T) {
	found, err := check(t.Context(), lib(t), "linux/amd64", "tagged")
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Contains(t, found[0], "lib_tagged.go")
}

func TestCheck_FolderWithoutModule_ReturnsError(t *testing.T) {
	found, err := check(t.Context(), t.TempDir(), "linux/amd64", "")
	require.True(t, err != nil || len(found) > 0, "nothing was checked")
}
