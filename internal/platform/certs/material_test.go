// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/x509"
	"encoding/pem"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProvided(t *testing.T) {
	t.Parallel()
	good := mustEncode(t, install(t))
	tests := []struct {
		name  string
		data  func(t *testing.T, data map[string][]byte)
		hosts []string
		after time.Duration
		err   string
	}{
		{name: "a good Secret is taken"},
		{name: "a bundle with remarks in it is taken", data: func(_ *testing.T, data map[string][]byte) {
			data[keyTrusted] = append(data[keyTrusted], "# ours"...)
		}},
		{name: "a chain is taken with an authority in between", data: chained},
		{name: "a Secret without a certificate", data: removed(keyServingCertificate), err: "tls.crt: missing"},
		{name: "a Secret without a key", data: removed(keyServingKey), err: "tls.key: missing"},
		{name: "a Secret without a bundle", data: removed(keyTrusted), err: "ca.crt: missing"},
		{name: "a key of something else", data: func(_ *testing.T, data map[string][]byte) {
			data[keyServingKey] = data[keyAuthorityKey]
		}, err: "tls.crt and tls.key: tls: private key does not match public key"},
		{name: "a bundle of garbage", data: func(_ *testing.T, data map[string][]byte) {
			data[keyTrusted] = []byte("garbage")
		}, err: "ca.crt: is not PEM throughout\nholds no certificate"},
		{name: "a bundle that does not vouch for it", data: func(t *testing.T, data map[string][]byte) {
			data[keyTrusted] = bundleOf(install(t))
		}, err: "ca.crt: verify serving certificate: x509: certificate signed by unknown authority"},
		{name: "a host name that it lacks", hosts: []string{host, "guard.example.com"}, err: "tls.crt: check host names: x509: certificate is valid for " + host + ", not guard.example.com"},
		{name: "a certificate that has expired", after: year, err: "tls.crt: expired at 2027-02-19T12:00:01Z"},
		{name: "a certificate of the future", after: -day, err: "tls.crt: not valid before 2026-11-21T11:55:01Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := maps.Clone(good)
			if tt.data != nil {
				tt.data(t, data)
			}
			hosts := tt.hosts
			if hosts == nil {
				hosts = []string{host}
			}
			m, err := provided(data, hosts, start.Add(tt.after))
			got := ""
			if err != nil {
				got = firstWords(err.Error(), tt.err)
			}
			if diff := cmp.Diff(tt.err, got); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
			if err == nil && !trusts(m.trusted, m, start) {
				t.Error("what was taken is not trusted by its own bundle")
			}
		})
	}
}

// firstWords cuts off what the library adds behind the wanted words.
func firstWords(s, wanted string) string {
	if len(s) > len(wanted) && wanted != "" {
		return s[:len(wanted)]
	}
	return s
}

func removed(key string) func(*testing.T, map[string][]byte) {
	return func(_ *testing.T, data map[string][]byte) { delete(data, key) }
}

// chained has the certificate signed by an authority that only tls.crt holds.
func chained(t *testing.T, data map[string][]byte) {
	t.Helper()
	between, err := sign(&x509.Certificate{
		NotBefore:             start.Add(-time.Hour),
		NotAfter:              start.Add(year),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLen:            1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	root := between
	if between, err = sign(&x509.Certificate{
		NotBefore:             start.Add(-time.Hour),
		NotAfter:              start.Add(year),
		IsCA:                  true,
		BasicConstraintsValid: true,
	}, root); err != nil {
		t.Fatal(err)
	}
	leaf, err := newServing(between, start, time.Hour, []string{host})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(leaf.Key)
	if err != nil {
		t.Fatal(err)
	}
	data[keyServingCertificate] = encodeCertificates([]*x509.Certificate{leaf.Certificate, between.Certificate})
	data[keyServingKey] = pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: raw})
	data[keyTrusted] = encodeCertificates([]*x509.Certificate{root.Certificate})
}
