package servers

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// TLSFiles are what a server has for TLS, in PEM.
type TLSFiles struct {
	Cert, Key string
	CA        string // of the clients
	// ClientCerts makes it want a certificate of every client.
	ClientCerts bool
}

// WithTLS makes a server speak TLS as well: at TLSAddr, while at Addr there is none. A MariaDB speaks
// both at one address.
func WithTLS(files TLSFiles) Setting { return Setting{tls: &files} }

// TLSAddr returns the address at which the server speaks TLS, host:port, or "" if it does not.
func (p *Process) TLSAddr() string { return p.tlsAddr }

// tlsPort returns a port for TLS beside the server's own, or 0 without TLS.
func tlsPort(ctx context.Context, files *TLSFiles) (int, error) {
	if files == nil {
		return 0, nil
	}
	ports, err := freePorts(ctx, 1)
	if err != nil {
		return 0, err
	}
	return ports[0], nil
}

func (f *TLSFiles) redis(port int) []Setting {
	return []Setting{
		Set("tls-port", strconv.Itoa(port)), Set("tls-auth-clients", f.choose("yes", "no")),
		Set("tls-cert-file", f.Cert), Set("tls-key-file", f.Key), Set("tls-ca-cert-file", f.CA),
	}
}

// choose returns yes if every client must have a certificate.
func (f *TLSFiles) choose(yes, no string) string {
	if f.ClientCerts {
		return yes
	}
	return no
}

func (f *TLSFiles) etcd() []Setting {
	return []Setting{
		Set("cert-file", f.Cert), Set("key-file", f.Key), Set("trusted-ca-file", f.CA),
		Set("client-cert-auth", f.choose("true", "false")),
	}
}

// zooKeeper writes the key and the certificate into the one file that it wants in dir.
func (f *TLSFiles) zooKeeper(dir string, port int) ([]Setting, error) {
	both := filepath.Join(dir, "keystore.pem")
	cert, err := os.ReadFile(f.Cert)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	key, err := os.ReadFile(f.Key)
	if err != nil {
		return nil, err //nolint:wrapcheck // the same
	}
	if err := os.WriteFile(both, slices.Concat(key, cert), 0o600); err != nil { //nolint:gosec // dir is a test's own
		return nil, err //nolint:wrapcheck // the same
	}
	return []Setting{
		Set("secureClientPort", strconv.Itoa(port)),
		Set("serverCnxnFactory", "org.apache.zookeeper.server.NettyServerCnxnFactory"),
		Set("ssl.keyStore.location", both), Set("ssl.keyStore.type", "PEM"),
		Set("ssl.trustStore.location", f.CA), Set("ssl.trustStore.type", "PEM"),
		Set("ssl.clientAuth", f.choose("need", "none")),
	}, nil
}
