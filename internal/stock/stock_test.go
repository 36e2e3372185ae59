package stock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScriptName_HashOfScript_ReturnsNameOfItsFile(t *testing.T) {
	for name, sc := range map[string]script{"reserve": reserveScript, "acknowledge": ackScript, "owner": ownerScript} {
		require.Equal(t, name, ScriptName(sc.Hash()))
	}
	require.Empty(t, ScriptName("none"))
}
