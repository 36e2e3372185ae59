package lab

import (
	"strings"

	"example.com/seckill/internal/tools/lab/harness"
)

// shownLines is the largest number of lines of a block that a drawing shows, unless more of them ran.
const shownLines = 20

// foldAll folds each block of the code.
func foldAll(code []harness.Block) {
	for i := range code {
		fold(code[i].Lines)
	}
}

// fold shows the lines that ran, the schedule, and the lines that open and close a block around these. If there is
// room, it adds the nearest other lines. It marks the rest as folded.
func fold(lines []harness.Line) {
	shown := make([]bool, len(lines))
	var run []int
	show := func(n int) {
		shown[n] = true
		enclosing(lines, n, -1, shown)
		enclosing(lines, n, 1, shown)
	}
	for n, line := range lines {
		if line.Wrong || line.Right {
			run = append(run, n)
			show(n)
		}
	}
	for n, line := range lines {
		if len(run) > 0 && plans(line.Text) {
			show(n)
		}
	}
	fill(shown, run)
	for i := range lines {
		lines[i].Folded = !shown[i]
	}
}

// fill adds the lines nearest to those that ran, as far as there is room.
func fill(shown []bool, run []int) {
	left := shownLines
	for _, is := range shown {
		if is {
			left--
		}
	}
	for reach := 1; reach < len(shown); reach++ {
		for _, n := range run {
			for _, i := range []int{n + reach, n - reach} {
				if left > 0 && i >= 0 && i < len(shown) && !shown[i] {
					shown[i] = true
					left--
				}
			}
		}
	}
}

// plans reports whether a line is a schedule with turns.
func plans(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "run.Schedule(") && text != "run.Schedule()"
}

// enclosing marks what encloses line n before it, or after it: the nearest line that is less deep, and
// so on, with both ends of an else. Code is formatted by gofmt, so its depth is its indentation.
func enclosing(lines []harness.Line, n, step int, shown []bool) {
	deep, half := depth(lines[n].Text), false
	for i := n + step; i >= 0 && i < len(lines); i += step {
		text := strings.TrimSpace(lines[i].Text)
		at := depth(lines[i].Text)
		if text == "" || at > deep || at == deep && !half {
			continue
		}
		shown[i] = true
		deep, half = at, strings.HasPrefix(text, "}") && strings.HasSuffix(text, "{")
	}
}

// depth returns how far a line is indented.
func depth(text string) int { return len(text) - len(strings.TrimLeft(text, "\t")) }
