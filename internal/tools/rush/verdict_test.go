package rush_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/tools/rush"
)

func TestVerdict_AuditRequestedButMissing_Fails(t *testing.T) {
	none := rush.Report{Audit: rush.AuditNotRun, AuditReason: "the audit could not be read: 503"}
	require.ErrorContains(t, none.Verdict(true), "could not be read: 503")
	require.NoError(t, none.Verdict(false), "the audit was left out")
	require.NoError(t, rush.Report{Audit: rush.AuditClean}.Verdict(true))
	require.ErrorIs(t, rush.Report{Audit: rush.AuditViolated}.Verdict(true), rush.ErrViolated)
}
