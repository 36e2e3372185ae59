package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"seckill/internal/app"
)

func newHealth(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a running server whether it is ready, for the health checks of containers",
		Long: `Asks /readyz of the second listener, admin.addr of the configuration, and prints what it says. The
exit code is 0 if the server is ready and 1 if it is not, or does not answer. With --live it asks
/healthz, which says only that the process is there. With --public it asks the public
listener, which has neither, for its page's description of itself.`,
		Example: "  seckill health\n  seckill health --live --timeout 1s\n  seckill health --url http://10.0.0.7:6060",
		Args:    noArgs,
	}
	load := configFlag(cmd, c)
	url := cmd.Flags().String("url", "", "the listener, as http://host:port (default: of the configuration, on this machine)")
	live := cmd.Flags().Bool("live", false, "ask whether the process is there, and not whether it can serve")
	public := cmd.Flags().Bool("public", false, "ask the public listener")
	ca := cmd.Flags().String("ca", "", "of an https --url: a file of the authorities to trust, in PEM (default: the system's)")
	timeout := cmd.Flags().Duration("timeout", 3*time.Second, "how long the server has to answer")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *live && *public {
			return usage(errors.New("--live is of the second listener: leave out --public"))
		}
		if *timeout <= 0 {
			return usage(errors.New("--timeout must be above zero"))
		}
		cfg, err := load()
		if err != nil {
			return err
		}
		addr, path, encrypted := cfg.Admin.Addr, "/readyz", cfg.Admin.TLS
		switch {
		case *live:
			path = "/healthz"
		case *public:
			addr, path, encrypted = cfg.HTTP.Addr, "/api/v1/features", cfg.HTTP.TLSCert != ""
		}
		secure, err := app.TrustTLS(*ca)
		if *url == "" {
			*url = "http://" + onThisMachine(addr)
			if encrypted {
				*url = "https://" + onThisMachine(addr)
				secure, err = app.OwnTLS(cfg.HTTP)
			}
		}
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), *timeout)
		defer cancel()
		said, err := askHealth(ctx, strings.TrimSuffix(*url, "/")+path, secure)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(c.out, said)
		return nil
	}
	return cmd
}

// onThisMachine returns where a listener can be reached from its own machine.
func onThisMachine(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

// askHealth returns what the server says of itself, or why it is not well.
func askHealth(ctx context.Context, url string, secure *tls.Config) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", usage(fmt.Errorf("--url: %w", err))
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: secure}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("the server does not answer: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	const most = 4 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return "", fmt.Errorf("the server does not answer: %w", err)
	}
	var said struct {
		Status string `json:"status"`
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal(body, &said) // what is no health check has neither
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s %s", url, resp.Status, said.Reason)
	}
	if said.Status == "" {
		said.Status = "ok"
	}
	return said.Status, nil
}
