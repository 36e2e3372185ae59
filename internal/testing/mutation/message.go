package mutation

import (
	"regexp"
	"strings"
)

// messageLength is how much of a test's message is kept.
const messageLength = 160

// place is a line on which testify says where.
var place = regexp.MustCompile(`^\S+\.go:\d+:$`)

// message returns what a failed test said first: testify's Error with what was expected
// and what was there, or else the first line of its own.
func message(output string) string {
	var plain string
	var found []string
	inside := false
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		label, rest, _ := strings.Cut(line, "\t")
		label = strings.TrimSpace(label)
		switch {
		case label == "Error:":
			inside, found = true, append(found, strings.TrimSpace(rest))
		case label == "Messages:":
			return clip(strings.Join(found, " ") + " · " + strings.TrimSpace(rest))
		case label == "Test:" || inside && line == "":
			inside = false
		case inside:
			found = append(found, line)
		case plain == "" && line != "" && !framework(line):
			plain = line
		}
	}
	if len(found) > 0 {
		return clip(strings.Join(found, " "))
	}
	return clip(plain)
}

// framework reports whether a line is of `go test` and not of the test.
func framework(line string) bool {
	for _, prefix := range []string{"=== ", "--- ", "Error Trace:", "time=", "{\"time\""} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return place.MatchString(line)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return clip(line)
}

func clip(text string) string {
	if r := []rune(text); len(r) > messageLength {
		return string(r[:messageLength]) + "…"
	}
	return text
}
