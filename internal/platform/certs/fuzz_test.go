package certs

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/seckill/internal/testing/testcerts"
)

// Files that are taken make a certificate, and files that are refused leave the earlier one.
func FuzzCertificate_AnyPair_IsTakenWholeOrRefused(f *testing.F) {
	ca := testcerts.New(f)
	good, other := ca.Issue(), ca.Issue(testcerts.Expired)
	read := func(file string) []byte {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		return text
	}
	f.Add(read(good.Cert), read(good.Key))
	f.Add(read(good.Cert), read(other.Key))
	f.Add(read(other.Cert), read(other.Key))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"), []byte("x"))
	f.Add([]byte(nil), []byte(nil))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, cert, key []byte) {
		var p Pair
		if err := p.Set(cert, key); (err == nil) != (p.now.Load() != nil) {
			t.Fatalf("%v, and the certificate is %v", err, p.now.Load())
		}
		file := filepath.Join(dir, "ca.pem")
		if err := os.WriteFile(file, cert, 0o600); err != nil {
			t.Fatal(err)
		}
		if trusted, err := Trust(file); (err == nil) != (trusted != nil) {
			t.Fatalf("%v, and what is trusted is %v", err, trusted)
		}
		_, _ = Own(file)
	})
}
