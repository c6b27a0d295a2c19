// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/x509"
	"fmt"
	"net"
	"time"
)

// certificateNames returns the host names of a certificate, comparable with
// those of the function names.
func certificateNames(c *x509.Certificate) []string {
	hosts := make([]string, 0, len(c.DNSNames)+len(c.IPAddresses))
	hosts = append(hosts, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		hosts = append(hosts, net.IP(ip).String())
	}
	return names(hosts)
}

// checkNames returns an error that names the first host that the certificate is
// not good for.
func checkNames(c *x509.Certificate, hosts []string) error {
	for _, h := range hosts {
		if err := c.VerifyHostname(h); err != nil {
			return fmt.Errorf("check host names: %w", err)
		}
	}
	return nil
}

// checkTimes returns an error if the certificate is not valid at a time.
func checkTimes(c *x509.Certificate, t time.Time) error {
	switch {
	case t.Before(c.NotBefore):
		return fmt.Errorf("not valid before %s", c.NotBefore.UTC().Format(time.RFC3339))
	case !t.Before(c.NotAfter):
		return fmt.Errorf("expired at %s", c.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// verify checks a chain, the serving certificate first, as the API server does
// that trusts roots, but for the host name. It returns the authority that the
// chain ends in.
func verify(chain, roots []*x509.Certificate, t time.Time) (*x509.Certificate, error) {
	options := x509.VerifyOptions{
		Roots:         pool(roots),
		Intermediates: pool(chain[1:]),
		CurrentTime:   t,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	verified, err := chain[0].Verify(options)
	if err != nil {
		return nil, fmt.Errorf("verify serving certificate: %w", err)
	}
	return verified[0][len(verified[0])-1], nil
}

func pool(certificates []*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, c := range certificates {
		p.AddCert(c)
	}
	return p
}
