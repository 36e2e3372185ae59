package lab_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/tools/lab"
	"example.com/seckill/internal/tools/lab/harness"
)

const again = "run make recordings"

// TestRecordings_EveryExperiment_HasWhatItExpects holds the recordings to the experiments as they are.
func TestRecordings_EveryExperiment_HasWhatItExpects(t *testing.T) {
	for _, e := range lab.All() {
		t.Run(e.Name, func(t *testing.T) {
			r, err := lab.Recording(e.Name)
			require.NoError(t, err)
			require.True(t, r.AsExpected(), describe(r))
			require.Equal(t, e.Lesson, r.Lesson)
			require.NotNil(t, r.Recorded)
			require.False(t, r.Recorded.At.IsZero())
			require.NotEmpty(t, r.Recorded.On)
			require.Len(t, r.Cases, len(e.Cases), again)
			for i, c := range r.Cases {
				require.Equal(t, e.Cases[i].Label, c.Label, again)
				require.Equal(t, e.Cases[i].Wrong, c.Wrong, again)
				require.Nil(t, c.NotRun, "a recording shows every case")
				require.NotEmpty(t, c.Events)
				require.Equal(t, c.Wrong, marked(c), "the step is marked with which it goes wrong, and no other")
			}
			require.Empty(t, untold(r), "harness/chinese.go does not have these")
		})
	}
}

// TestRecordings_Code_IsTheProgramsOwn compares it with the source, line by line.
func TestRecordings_Code_IsTheProgramsOwn(t *testing.T) {
	for _, e := range lab.All() {
		t.Run(e.Name, func(t *testing.T) {
			r, err := lab.Recording(e.Name)
			require.NoError(t, err)
			require.NotEmpty(t, r.Code)
			for _, block := range r.Code {
				var lines []string
				for _, line := range block.Lines {
					lines = append(lines, line.Text)
				}
				require.Contains(t, read(t, block.File), strings.Join(lines, "\n")+"\n", again)
			}
			steps := 0
			for _, c := range r.Cases {
				for _, event := range c.Events {
					if event.Line == nil {
						continue
					}
					steps++
					line := r.Code[event.Line[0]].Lines[event.Line[1]]
					require.NotEmpty(t, strings.TrimSpace(line.Text))
					require.True(t, c.Wrong && line.Wrong || !c.Wrong && line.Right)
				}
			}
			require.Positive(t, steps, "no step has its line")

			require.NotNil(t, r.Place, "places.go does not say where the program does it right")
			require.Contains(t, read(t, r.Place.File), r.Place.Code)
		})
	}
}

// read returns a file of the module.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../..", path))
	require.NoError(t, err)
	return string(text)
}

func marked(c harness.CaseResult) bool {
	for _, e := range c.Events {
		if e.Anomaly != nil {
			return true
		}
	}
	return false
}

func TestRecordings_ExperimentRun_AreNotUsed(t *testing.T) {
	why := harness.NewText("no server", "没有服务器")
	r, err := lab.WithRecording(harness.Result{Name: "unlock-before-commit", NotRun: &why})
	require.NoError(t, err)
	require.Equal(t, &why, r.NotRun, "it is still not run")
	require.False(t, r.AsExpected())
	require.NotNil(t, r.Recorded)
	require.Len(t, r.Cases, 2)

	played := harness.Result{Name: "unlock-before-commit", Failed: "it broke"}
	r, err = lab.WithRecording(played)
	require.NoError(t, err)
	require.Equal(t, played, r)
	_, err = lab.Recording("nonsense")
	require.Error(t, err)
}
