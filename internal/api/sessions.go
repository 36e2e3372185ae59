package api

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/seckill/internal/api/auth"
)

type sessionRequest struct {
	userID int64
	role   *string
}

func (r *sessionRequest) read(in *input) {
	in.body(fields{"user_id": asID(&r.userID), "role": asText(&r.role)})
	if r.role != nil && *r.role != auth.RoleUser && *r.role != auth.RoleAdmin {
		in.refuse(malformed("field %q must be %q or %q", "role", auth.RoleUser, auth.RoleAdmin))
	}
	if r.userID == 0 {
		in.refuse(malformed("field %q is missing", "user_id"))
	}
}

type session struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (session) writeHeader(http.Header) int { return http.StatusCreated }

// newSession returns a token of any user, and of an administrator where that is allowed too. It is
// meant for demonstrations alone.
func (s *Server) newSession(_ context.Context, r sessionRequest) (session, error) {
	role := auth.RoleUser
	if r.role != nil {
		role = *r.role
	}
	if role == auth.RoleAdmin && !s.o.DemoAdmin {
		return session{}, errForbidden
	}
	token, expires, err := s.tokens.Sign(r.userID, role, 0)
	return session{token, expires}, err
}

// admitSession bounds the logins from one address, and refuses all of them without the demo login.
func (s *Server) admitSession(c *gin.Context) error {
	switch {
	case !s.o.DemoLogin:
		return errNoRoute
	case !s.addresses.Allow(addressKey(c.ClientIP())):
		s.addresses.tell(c.Writer.Header())
		return errRateLimited
	}
	return nil
}

// addressKey returns the client that an address belongs to: an IPv6 host owns a whole /64.
func addressKey(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil || addr.Unmap().Is4() {
		return ip
	}
	block, err := addr.WithZone("").Prefix(64)
	if err != nil {
		return ip
	}
	return block.String()
}
