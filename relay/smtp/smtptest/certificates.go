package smtptest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"
)

// Certificates are of an authority made for this run.
type Certificates struct {
	Roots *x509.CertPool
	PEM   []byte // the authority's own

	Good    tls.Certificate // for 127.0.0.1
	Other   tls.Certificate // for another name
	Expired tls.Certificate
}

// PKI makes the certificates at its first call.
func PKI(t testing.TB) Certificates {
	t.Helper()
	c, err := certificates()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var certificates = sync.OnceValues(func() (Certificates, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Certificates{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return Certificates{}, err
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		return Certificates{}, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	local := []net.IP{net.IPv4(127, 0, 0, 1)}
	good, err := leaf(root, key, local, time.Hour)
	other, err2 := leaf(root, key, nil, time.Hour)
	expired, err3 := leaf(root, key, local, -time.Hour)
	return Certificates{
		Roots: pool, PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Good: good, Other: other, Expired: expired,
	}, errors.Join(err, err2, err3)
})

func leaf(ca *x509.Certificate, caKey *ecdsa.PrivateKey, ips []net.IP, life time.Duration) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"}, IPAddresses: ips, DNSNames: []string{"mail.example"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(life), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, &key.PublicKey, caKey)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
