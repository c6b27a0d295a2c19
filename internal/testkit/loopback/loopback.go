// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loopback has what servers of tests on 127.0.0.1 need.
package loopback

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"testing"
	"time"
)

// Certificate is one for 127.0.0.1 that nobody trusts yet.
type Certificate struct {
	TLS tls.Certificate
	// PEM is what to trust.
	PEM string
}

// NewCertificate makes a certificate.
func NewCertificate() (*Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "loopback"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &Certificate{
		TLS: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		PEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
	}, nil
}

// FreeAddress returns an address of the loopback that nothing listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	all, err := FreeAddresses(1)
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// FreeAddresses returns addresses of the loopback that nothing listens on. Each stays taken until all are found, so that they
// differ.
func FreeAddresses(n int) ([]string, error) {
	if n == 0 {
		return nil, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	others, err := FreeAddresses(n - 1)
	return append(others, l.Addr().String()), err
}

// NoLog is for servers whose clients break off on purpose.
func NoLog() *log.Logger { return log.New(io.Discard, "", 0) }
