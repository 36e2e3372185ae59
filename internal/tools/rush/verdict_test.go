package rush_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/tools/rush"
)

func TestVerdict_AuditRequestedButMissing_Fails(t *testing.T) {
	none := rush.Report{Audit: rush.AuditNotRun, Notes: []string{"the audit could not be read: 503"}}
	require.ErrorContains(t, none.Verdict(true), "could not be read: 503")
	require.NoError(t, none.Verdict(false), "without the secret nobody can ask")
	require.NoError(t, rush.Report{Audit: rush.AuditClean}.Verdict(true))
	require.ErrorIs(t, rush.Report{Audit: rush.AuditViolated}.Verdict(true), rush.ErrViolated)
}
