package rush

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRush_StockIsRaised_IsNotOversold has an administrator add three units when the third buyer comes.
func TestRush_StockIsRaised_IsNotOversold(t *testing.T) {
	for name, admin := range map[string]string{"with the audit": "admin", "without": ""} {
		t.Run(name, func(t *testing.T) {
			s := &fakeServer{stock: 2}
			s.buy = func(http.ResponseWriter, string, string, int) bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.stock == 0 && s.total == 2 {
					s.stock, s.total = 3, 5
				}
				return false
			}
			open(t, s)

			rep, err := Run(t.Context(), Options{URL: s.url, Users: 8, Concurrency: 1, Token: plainToken, AdminToken: admin})

			require.NoError(t, err)
			require.Empty(t, rep.Violations)
			require.Equal(t, 5, rep.Accepted)
			require.Contains(t, rep.Notes, "the stock was raised from 2 to 5 during the run")
		})
	}
}
