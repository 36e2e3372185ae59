package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/tools/gallery"
)

func TestGalleryCommand_ListSearchShow_PrintMutants(t *testing.T) {
	g, err := gallery.Load()
	require.NoError(t, err)
	for _, language := range []string{"en", "zh"} {
		code, out, complaint := play(t, nil, "gallery", "--lang", language)
		require.Equal(t, cli.ExitOK, code, complaint)
		for _, s := range g.Subjects {
			require.Contains(t, out, s.Title.In(language)+"\n")
			for _, name := range s.Names {
				require.Equal(t, 1, strings.Count(out, "  "+name+" "), name)
			}
		}
	}

	code, out, complaint := play(t, nil, "gallery", "order/acknowledged-before-the-commit")
	require.Equal(t, cli.ExitOK, code, complaint)
	for _, want := range []string{
		"order/acknowledged-before-the-commit\n", "internal/order/queue.go", "  +\t\tif err := s.queue.Ack(ctx, *a.entry); err != nil {\n",
		"killed by  go test ./internal/order -run TestWorker_OutcomeUnknown_DoesNotAcknowledge", "red        TestWorker_OutcomeUnknown_DoesNotAcknowledge", "breaks     I11",
	} {
		require.Contains(t, out, want)
	}

	code, out, _ = play(t, nil, "gallery", "i11")
	require.Equal(t, cli.ExitOK, code)
	require.GreaterOrEqual(t, strings.Count(out, "\n"), 3, "what is searched for may be an invariant")
	require.Equal(t, strings.Count(out, "\n"), strings.Count(out, "I11"))

	code, out, complaint = play(t, nil, "gallery", "acknowledged-before-the-comit")
	require.Equal(t, cli.ExitUsage, code)
	require.Empty(t, out)
	require.Contains(t, complaint, `did you mean "acknowledged-before-the-commit"?`)
}
