package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/internal/rush"
)

func TestAnAuditThatWasAskedForAndNotHadIsAFailure(t *testing.T) {
	none := rush.Report{Audit: rush.AuditNotRun, Notes: []string{"the audit could not be read: 503"}}
	require.ErrorContains(t, verdict(none, true), "could not be read: 503")
	require.NoError(t, verdict(none, false), "without the secret nobody can ask")
	require.NoError(t, verdict(rush.Report{Audit: rush.AuditClean}, true))
	require.ErrorIs(t, verdict(rush.Report{Audit: rush.AuditViolated}, true), errSilent)
}
