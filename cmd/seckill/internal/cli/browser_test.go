package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOpenBrowser_NamedBrowser_GetsPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a folder") // whose name the script below must quote
	require.NoError(t, os.Mkdir(dir, 0o700))
	browser, opened := filepath.Join(dir, "browser"), filepath.Join(dir, "opened")
	require.NoError(t, os.WriteFile(browser, []byte("#!/bin/sh\necho $1 >'"+opened+".part'; mv '"+opened+".part' '"+opened+"'\n"), 0o700))
	var complained strings.Builder
	Console{Err: &complained, Environ: []string{"BROWSER=" + browser}}.OpenBrowser(t.Context(), "http://127.0.0.1:8080")
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(opened)
		return err == nil && string(text) == "http://127.0.0.1:8080\n"
	}, 20*time.Second, 10*time.Millisecond)
	require.Empty(t, complained.String())

	Console{Err: &complained, Environ: []string{"BROWSER=" + dir + "/none"}}.OpenBrowser(t.Context(), "http://127.0.0.1:8080")
	require.Contains(t, complained.String(), "open http://127.0.0.1:8080 yourself")
}
