package runner_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api"
	"example.com/seckill/internal/tools/lab/harness"
	"example.com/seckill/internal/tools/lab/runner"
)

func TestResult_ExperimentNotRun_ReturnsRecording(t *testing.T) {
	r := runner.New(true)
	defer func() { require.NoError(t, r.Close()) }()
	seen, err := r.Result("read-before-lock")
	require.NoError(t, err)
	text, err := json.Marshal(seen)
	require.NoError(t, err)
	var shown struct {
		Cases   []harness.CaseResult
		Drawing harness.Text
		Origin  *harness.Text
	}
	require.NoError(t, json.Unmarshal(text, &shown))
	require.Len(t, shown.Cases, 5)
	require.Contains(t, shown.Drawing.ZH, "第二次点击")
	require.NotNil(t, shown.Origin)
	require.Contains(t, shown.Origin.EN, "recorded on ")

	_, err = r.Result("nonsense")
	require.ErrorIs(t, err, api.ErrNoExperiment)
}

func TestList_RunnerThatDoesNotPlay_AsksForNoServers(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	for _, plays := range []bool{true, false} {
		r := runner.New(plays)
		text, err := json.Marshal(r.List())
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Equal(t, plays, r.Plays())
		require.Equal(t, plays, bytes.Contains(text, []byte("not installed")), "what is missing matters where experiments are played")
	}
}
