package report

import (
	"strings"
)

// wrapped breaks a text into lines of width.
func wrapped(text string) string { return wrappedAt(text, width) }

// wrappedAt breaks a text into lines of a width; a line may be broken between any Chinese characters, and each
// is as wide as two others.
func wrappedAt(text string, width int) string {
	var lines []string
	line, size := "", 0
	for _, piece := range pieces(text) {
		n := columns(piece)
		if size+n > width && line != "" {
			lines = append(lines, strings.TrimRight(line, " "))
			line, size = "", 0
		}
		line, size = line+piece, size+n
	}
	return strings.Join(append(lines, line), "\n")
}

// pieces splits a text into what a line is never broken within.
func pieces(text string) []string {
	var all []string
	word := ""
	for _, r := range text {
		word += string(r)
		if r == ' ' || r >= firstWide {
			all, word = append(all, word), ""
		}
	}
	return append(all, word)
}

// firstWide is the first character that takes two columns.
const firstWide = 0x2e80

// padded returns the text padded to n columns.
func padded(text string, n int) string {
	return text + strings.Repeat(" ", max(0, n-columns(text)))
}

func columns(text string) int {
	n := 0
	for _, r := range text {
		if n++; r >= firstWide {
			n++
		}
	}
	return n
}
