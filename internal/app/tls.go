package app

import (
	"context"
	"crypto/tls"
	"fmt"

	"example.com/seckill/internal/config"
	"example.com/seckill/internal/platform/certs"
)

// clientTLS returns how the servers of a section of the configuration, such as redis, are verified, or nil
// without TLS. What is wrong with the files is the operator's to mend.
func clientTLS(section string, cfg config.ClientTLS) (*tls.Config, error) {
	secure, err := certs.Client{
		On: cfg.TLS, CA: cfg.TLSCA, ServerName: cfg.TLSServerName, Cert: cfg.TLSCert, Key: cfg.TLSKey, Keys: section + ".tls",
	}.Config()
	if err != nil {
		return nil, Usage(err)
	}
	return secure, nil
}

// lockError returns the one line about servers of locks that do not answer: their clients do not say
// which server it is and, of TLS, not much else.
func lockError(ctx context.Context, cfg config.Lock, err error) error {
	if len(cfg.Addrs) > 0 && cfg.Backend != "redlock" {
		secure, _ := clientTLS("lock", cfg.ClientTLS) // it was read before
		if addr, why := certs.Probe(ctx, cfg.Addrs, secure); why != "" {
			return fmt.Errorf("lock.backend %s at %s %s: check lock.tls and the keys beside it: %w", cfg.Backend, addr, why, err)
		}
	}
	return fmt.Errorf("lock.backend %s does not answer: check lock.addrs: %w", cfg.Backend, err)
}
