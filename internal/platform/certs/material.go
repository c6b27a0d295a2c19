// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// material is what one reading of the Secret offers to serve.
type material struct {
	certificate *tls.Certificate
	// chain is the certificate, parsed, the serving one first.
	chain []*x509.Certificate
	// authority is the trusted one that the chain ends in.
	authority *x509.Certificate
	// trusted is what the API server must trust.
	trusted []*x509.Certificate
}

func (m *material) leaf() *x509.Certificate {
	return m.chain[0]
}

// issued returns the material of a state that Next has returned.
func issued(s State) *material {
	c := s.Serving.Certificate
	return &material{
		certificate: &tls.Certificate{Certificate: [][]byte{c.Raw}, PrivateKey: s.Serving.Key, Leaf: c},
		chain:       []*x509.Certificate{c},
		authority:   s.Authority.Certificate,
		trusted:     s.Trusted(),
	}
}

// provided returns the material of a Secret that something else keeps. It is an
// error if the API server would refuse it: the pair does not fit, it is not
// valid at this time, lacks a host name, or ca.crt does not vouch for it.
func provided(data map[string][]byte, hosts []string, now time.Time) (*material, error) {
	for _, key := range []string{keyServingCertificate, keyServingKey, keyTrusted} {
		if len(data[key]) == 0 {
			return nil, fmt.Errorf("%s: %w", key, errMissing)
		}
	}
	certificate, err := tls.X509KeyPair(data[keyServingCertificate], data[keyServingKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", keyServingCertificate, keyServingKey, err)
	}
	m := &material{certificate: &certificate}
	for _, raw := range certificate.Certificate {
		c, err := x509.ParseCertificate(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keyServingCertificate, err)
		}
		m.chain = append(m.chain, c)
	}
	if m.trusted, err = parseCertificates(data[keyTrusted]); len(m.trusted) == 0 {
		return nil, fmt.Errorf("%s: %w", keyTrusted, errors.Join(err, errors.New("holds no certificate")))
	}
	if err := errors.Join(checkTimes(m.leaf(), now), checkNames(m.leaf(), hosts)); err != nil {
		return nil, fmt.Errorf("%s: %w", keyServingCertificate, err)
	}
	if m.authority, err = verify(m.chain, m.trusted, now); err != nil {
		return nil, fmt.Errorf("%s: %w", keyTrusted, err)
	}
	return m, nil
}
