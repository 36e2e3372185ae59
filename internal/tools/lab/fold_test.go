package lab_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/tools/lab"
	"example.com/seckill/internal/tools/lab/harness"
)

// TestFold_CodeBesideDrawing_IsShort holds that what is shown is what was run and what it stands in, in
// some twenty lines.
func TestFold_CodeBesideDrawing_IsShort(t *testing.T) {
	for _, e := range lab.All() {
		r, err := lab.Recording(e.Name)
		require.NoError(t, err)
		for _, block := range r.Code {
			shown, run := 0, 0
			for n, line := range block.Lines {
				if line.Wrong || line.Right {
					run++
					assert.False(t, line.Folded, "%s leaves out what was run: %s", e.Name, line.Text)
				}
				if line.Folded {
					continue
				}
				shown++
				if line.Wrong || line.Right {
					assert.Empty(t, foldedAround(block.Lines, n), "%s: %s", e.Name, line.Text)
				}
			}
			assert.LessOrEqual(t, shown, max(21, 2*run+7), "%s, of which were run %d", e.Name, run)
			if len(block.Lines) <= 20 {
				assert.Equal(t, len(block.Lines), shown, "%s: what is short is whole", e.Name)
			}
		}
	}
}

// TestFold_ScheduleOfAnExperiment_StaysVisible holds that the code shows the order of the turns: without it the
// drawing cannot be explained.
func TestFold_ScheduleOfAnExperiment_StaysVisible(t *testing.T) {
	for _, e := range lab.All() {
		r, err := lab.Recording(e.Name)
		require.NoError(t, err)
		for _, block := range r.Code {
			for n, line := range block.Lines {
				if strings.Contains(line.Text, "run.Schedule(") && !strings.Contains(line.Text, "run.Schedule()") {
					assert.False(t, line.Folded, "%s leaves out its schedule: %s", e.Name, line.Text)
					assert.Empty(t, foldedAround(block.Lines, n), "%s: %s", e.Name, line.Text)
				}
			}
		}
	}
}

// foldedAround lists what opens a block around line n and is left out.
func foldedAround(lines []harness.Line, n int) (out []string) {
	depth := func(text string) int { return len(text) - len(strings.TrimLeft(text, "\t")) }
	deep := depth(lines[n].Text)
	for i := n - 1; i >= 0; i-- {
		if text := lines[i].Text; strings.TrimSpace(text) != "" && depth(text) < deep {
			deep = depth(text)
			if lines[i].Folded {
				out = append(out, text)
			}
		}
	}
	return out
}
