package app

import (
	"context"
	"crypto/tls"
	"fmt"

	"seckill/internal/certs"
	"seckill/internal/config"
)

func redisTLS(cfg config.Redis) (*tls.Config, error) {
	return clientTLS(certs.Client{
		On: cfg.TLS, CA: cfg.TLSCA, ServerName: cfg.TLSServerName, Cert: cfg.TLSCert, Key: cfg.TLSKey, Keys: "redis.tls",
	})
}

func mysqlTLS(cfg config.MySQL) (*tls.Config, error) {
	return clientTLS(certs.Client{
		On: cfg.TLS, CA: cfg.TLSCA, ServerName: cfg.TLSServerName, Cert: cfg.TLSCert, Key: cfg.TLSKey, Keys: "mysql.tls",
	})
}

func lockTLS(cfg config.Lock) (*tls.Config, error) {
	return clientTLS(certs.Client{
		On: cfg.TLS, CA: cfg.TLSCA, ServerName: cfg.TLSServerName, Cert: cfg.TLSCert, Key: cfg.TLSKey, Keys: "lock.tls",
	})
}

// clientTLS returns nil without TLS. What is wrong with the files is the operator's to mend.
func clientTLS(c certs.Client) (*tls.Config, error) {
	config, err := c.Config()
	if err != nil {
		return nil, Usage(err)
	}
	return config, nil
}

// lockError returns the one line about servers of locks that do not answer: their clients do not say
// which server it is and, of TLS, not much else.
func lockError(ctx context.Context, cfg config.Lock, err error) error {
	if len(cfg.Addrs) > 0 && cfg.Backend != "redlock" {
		secure, _ := lockTLS(cfg) // it was read before
		if addr, why := certs.Probe(ctx, cfg.Addrs, secure); why != "" {
			return fmt.Errorf("lock.backend %s at %s %s: check lock.tls and the keys beside it: %w", cfg.Backend, addr, why, err)
		}
	}
	return fmt.Errorf("lock.backend %s does not answer: check lock.addrs: %w", cfg.Backend, err)
}
