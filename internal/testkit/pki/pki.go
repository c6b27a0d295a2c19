// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes certificates for tests.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	tls.Certificate
	// PEM is its own certificate.
	PEM []byte
}

// NewAuthority returns an Authority with a key of its own.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	a := &Authority{Certificate: sign(t, name, nil)}
	a.PEM = encode("CERTIFICATE", a.Certificate.Certificate[0])
	return a
}

// Issue signs a certificate for a server at 127.0.0.1, and for a client with the common name.
func (a *Authority) Issue(t testing.TB, commonName string) tls.Certificate {
	t.Helper()
	return sign(t, commonName, a)
}

// Files writes a certificate and its key into files.
func Files(t testing.TB, c tls.Certificate, certFile, keyFile string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{certFile: encode("CERTIFICATE", c.Certificate[0]), keyFile: encode("PRIVATE KEY", key)} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func encode(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}

func sign(t testing.TB, name string, by *Authority) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA: by == nil, BasicConstraintsValid: true,
	}
	parent, signer := template, any(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}
}
