package main

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/tools/lab"
)

// screen is what a terminal shows.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestAsk_BeforeAnswer_RevealsNothing types an answer at a time.
func TestAsk_BeforeAnswer_RevealsNothing(t *testing.T) {
	e, err := lab.Find("unlock-before-commit")
	require.NoError(t, err)
	for _, language := range []string{"en", "zh"} {
		var out, complaint screen
		in, keyboard := io.Pipe()
		ended := make(chan int, 1)
		go func() {
			ended <- run(t.Context(), []string{"lab", "run", e.Name, "--ask", "--recorded", "--lang", language}, cli.Console{In: in, Out: &out, Err: &complaint})
		}()
		asked := func(times int) {
			require.Eventually(t, func() bool { return strings.Count(out.shown(), "1 / 2 / 3 / 4 > ") == times }, 20*time.Second, time.Millisecond)
		}
		types := func(answer string) {
			_, err := io.WriteString(keyboard, answer+"\n")
			require.NoError(t, err)
		}
		asked(1)
		require.NotContains(t, out.shown(), e.Lesson.In(language)[:30])
		types("five")
		asked(2)
		require.Contains(t, out.shown(), `"five"`)
		types("1")
		for n := range 12 {
			require.Eventually(t, func() bool {
				return strings.Contains(out.shown(), []string{
					" 1/12", " 2/12", " 3/12", " 4/12", " 5/12", " 6/12", " 7/12", " 8/12", " 9/12", "10/12", "11/12", "12/12",
				}[n])
			}, 20*time.Second, time.Millisecond)
			shown := out.shown()
			require.NotContains(t, shown, e.Lesson.In(language)[:30], "the lesson comes after the answer")
			require.NotContains(t, shown, e.Cases[1].Label.In(language))
			if n < 11 {
				require.NotContains(t, shown, "12/12", "step by step")
			}
			types("")
		}
		require.Equal(t, cli.ExitOK, <-ended, complaint.shown())
		if language == "en" {
			require.Contains(t, out.shown(), "You said 1. Counted: 2.")
		}
		require.Contains(t, strings.ReplaceAll(out.shown(), "\n", " "), e.Lesson.In(language)[:30])
	}
}

func TestAsk_PipedAnswers_SaysWhenTheyEnd(t *testing.T) {
	ask := func(answers string, args ...string) (int, string, string) {
		var out, complaint strings.Builder
		code := run(t.Context(), append([]string{"lab", "run"}, args...), cli.Console{In: strings.NewReader(answers), Out: &out, Err: &complaint})
		return code, out.String(), complaint.String()
	}
	code, out, complaint := ask("2"+strings.Repeat("\n", 13), "unlock-before-commit", "--ask", "--recorded")
	require.Equal(t, cli.ExitOK, code, complaint)
	require.Contains(t, out, "You said 2, and so it is.")

	code, out, complaint = ask("", "unlock-before-commit", "--ask", "--recorded")
	require.Equal(t, cli.ExitFail, code)
	require.Contains(t, complaint, "--ask reads answers from the standard input, which has ended")
	require.Equal(t, 1, strings.Count(complaint, "\n"))
	require.NotContains(t, out, "Counted")

	t.Setenv("PATH", "/nowhere")
	code, out, _ = ask("2"+strings.Repeat("\n", 13), "unlock-before-commit", "--ask")
	require.Equal(t, cli.ExitFail, code, "it was not played")
	require.Contains(t, out, "recorded on 20")
	require.Contains(t, out, "You said 2, and so it is.")

	code, _, complaint = ask("", "unlock-before-commit", "--ask", "--json")
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, complaint, "--ask and --json")
}

func TestAsk_CtrlC_LeavesQuestion(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	in, keyboard := io.Pipe()
	defer func() { _ = keyboard.Close() }()
	var out, complaint screen
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"lab", "run", "unlock-before-commit", "--ask", "--recorded"}, cli.Console{In: in, Out: &out, Err: &complaint})
	}()
	require.Eventually(t, func() bool { return strings.HasSuffix(out.shown(), " > ") }, 20*time.Second, time.Millisecond)
	stop()
	require.Equal(t, cli.ExitFail, <-ended)
	require.Contains(t, complaint.shown(), "stopped before it was done")
}
