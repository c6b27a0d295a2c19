// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"time"
)

// backdate is how far before its issue a certificate is valid, so that an API
// server whose clock is behind accepts it. It is the same for every certificate:
// the time of issue is read back from NotBefore.
const backdate = 5 * time.Minute

// issuedAt is when a certificate was issued.
func issuedAt(c *x509.Certificate) time.Time {
	return c.NotBefore.Add(backdate)
}

// lifetime is how long a certificate was meant to last from its issue.
func lifetime(c *x509.Certificate) time.Duration {
	return c.NotAfter.Sub(issuedAt(c))
}

// wholeSecond rounds up to what a certificate can hold, so that nothing that is
// counted from a certificate's time comes early.
func wholeSecond(t time.Time) time.Time {
	whole := t.UTC().Truncate(time.Second)
	if whole.Before(t) {
		whole = whole.Add(time.Second)
	}
	return whole
}

// newAuthority makes an authority that signs itself. Its time of issue is in its
// name so that people can tell two apart.
func newAuthority(now time.Time, validity time.Duration) (*Pair, error) {
	issued := wholeSecond(now)
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "Holdfast authority of " + issued.Format(time.RFC3339)},
		NotBefore:             issued.Add(-backdate),
		NotAfter:              issued.Add(validity),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	pair, err := sign(template, nil)
	if err != nil {
		return nil, fmt.Errorf("issue authority: %w", err)
	}
	return pair, nil
}

// newServing makes a serving certificate, which does not outlive the authority.
func newServing(authority *Pair, now time.Time, validity time.Duration, hosts []string) (*Pair, error) {
	issued := wholeSecond(now)
	notAfter := issued.Add(validity)
	if end := authority.Certificate.NotAfter; end.Before(notAfter) {
		notAfter = end
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "Holdfast"},
		NotBefore:             issued.Add(-backdate),
		NotAfter:              notAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, h := range names(hosts) {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, h)
	}
	pair, err := sign(template, authority)
	if err != nil {
		return nil, fmt.Errorf("issue serving certificate: %w", err)
	}
	return pair, nil
}

// sign makes a key and the certificate of it; without a parent the key signs
// itself.
func sign(template *x509.Certificate, parent *Pair) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	signer, issuer := crypto.Signer(key), template
	if parent != nil {
		signer, issuer = parent.Key, parent.Certificate
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, fmt.Errorf("parse own certificate: %w", err)
	}
	return &Pair{Certificate: certificate, Key: key}, nil
}
