// Command bare is a gin route that only answers JSON: as fast as an answer can be on this machine,
// with the same gin, the same client, the same connections and the same settings of the collector and of net/http. It
// serves the path of a tap, so that one generator measures both.
package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/gin-gonic/gin"
)

// answer is as large as an order. It is a refusal, so that the generator keeps no record of it.
type answer struct {
	Code      string `json:"code"`
	ID        string `json:"id"`
	CouponID  string `json:"coupon_id"`
	UserID    string `json:"user_id"`
	Status    string `json:"status"`
	CreatedAt string `json:"created_at"`
	ExpiresAt string `json:"expires_at"`
	RequestID string `json:"request_id"`
}

// The settings of the program, by internal/app and internal/config. GOGC and GOMEMLIMIT go before the first two
// there, too.
const (
	gcPercent = 1000
	softLimit = 112 << 20

	readTimeout  = 5 * time.Second
	writeTimeout = 15 * time.Second
	idleTimeout  = 100 * time.Second
	maxHeader    = 16 << 10
)

func main() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(gcPercent)
		debug.SetMemoryLimit(softLimit)
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := serve(log); err != nil {
		log.Error(err.Error())
		os.Exit(1)
	}
}

func serve(log *slog.Logger) error {
	gin.SetMode(gin.ReleaseMode)
	routes := gin.New()
	routes.GET("/api/v1/coupons/:id", func(c *gin.Context) {
		c.JSON(http.StatusOK, struct {
			ID string `json:"id"`
		}{c.Param("id")})
	})
	routes.POST("/api/v1/coupons/:id/orders", func(c *gin.Context) {
		c.JSON(http.StatusConflict, answer{
			"bare", "1234567890123456789", c.Param("id"), "123456", "pending",
			"2026-01-01T00:00:00.000Z", "2026-01-01T00:15:00.000Z", "0123456789abcdefghijklmnop",
		})
	})
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		return err //nolint:wrapcheck // it says what and where
	}
	log.Info("serving", "url", "http://"+l.Addr().String())
	s := &http.Server{
		Handler: routes, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
	}
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ended, func() { _ = s.Close() })
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err //nolint:wrapcheck // the same
	}
	return nil
}
