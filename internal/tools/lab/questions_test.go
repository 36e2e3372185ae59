package lab_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/tools/lab"
)

// TestQuestions_EachExperiment_HasItsOwn holds that a learner is asked about each experiment in words that were
// written for it, in both languages.
func TestQuestions_EachExperiment_HasItsOwn(t *testing.T) {
	asked := map[string]string{}
	for _, e := range lab.All() {
		r, err := lab.Recording(e.Name)
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(r.Asks.EN, "?"), "%s: questions.go has no question: %q", e.Name, r.Asks.EN)
		require.True(t, strings.HasSuffix(r.Asks.ZH, "？"), "%s: questions.go has no question: %q", e.Name, r.Asks.ZH)
		for _, text := range []string{r.Asks.EN, r.Asks.ZH} {
			require.Empty(t, asked[text], "%s asks what another experiment asks", e.Name)
			asked[text] = e.Name
		}
		for _, c := range r.Cases {
			for _, n := range c.Numbers {
				require.NotContains(t, r.Asks.EN, n.Name.EN+"?", "%s asks in the words of its rule", e.Name)
			}
		}
	}
}
