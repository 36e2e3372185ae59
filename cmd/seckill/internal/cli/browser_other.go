//go:build !darwin && !windows

package cli

// opener returns the command that opens a page in the user's browser.
func opener(url string) (program string, args []string) { return "xdg-open", []string{url} }
