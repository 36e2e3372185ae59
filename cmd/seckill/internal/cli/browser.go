package cli

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// OpenBrowser opens a page, with the program that BROWSER names or that the system has. Where there is
// none, as on a server, it says so and no more.
func (c Console) OpenBrowser(ctx context.Context, url string) {
	program, args := opener(url)
	for _, one := range c.Environ {
		if named, ok := strings.CutPrefix(one, "BROWSER="); ok && named != "" {
			program, args = named, []string{url}
		}
	}
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // the user's own choice
	if err := cmd.Start(); err != nil {
		_, _ = fmt.Fprintf(c.Err, "no browser could be opened, open %s yourself: %v\n", url, err)
		return
	}
	go func() { _ = cmd.Wait() }() // some stay until the page is closed
}
