// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"
)

// Pair is a certificate with its private key, which is never nil.
type Pair struct {
	Certificate *x509.Certificate
	Key         *ecdsa.PrivateKey
}

// State is what the Secret holds. The zero State is that of a Secret that does
// not exist. What it points to is never changed, only replaced.
type State struct {
	// Serving is presented to the API server; nil if there is none.
	Serving *Pair
	// Authority signs serving certificates; nil if there is none.
	Authority *Pair
	// Next will be the authority. It is trusted already and signs nothing yet;
	// nil when no rotation is under way.
	Next *Pair
	// Retired are former authorities that are trusted still.
	Retired []*x509.Certificate
	// Since is when Authority began to sign. It is zero when there are no
	// retired authorities, for which alone it matters.
	Since time.Time
}

// Trusted returns the certificates of all authorities to be trusted, oldest
// first, whatever their part.
func (s State) Trusted() []*x509.Certificate {
	trusted := slices.Clone(s.Retired)
	for _, pair := range []*Pair{s.Authority, s.Next} {
		if pair != nil {
			trusted = append(trusted, pair.Certificate)
		}
	}
	return sorted(trusted)
}

// complete says whether the Secret could be written again from this state
// without issuing anything.
func (s State) complete() bool {
	return s.Serving != nil && s.Authority != nil
}

// sorted returns the certificates oldest first, each once.
func sorted(certificates []*x509.Certificate) []*x509.Certificate {
	out := slices.Clone(certificates)
	slices.SortFunc(out, func(a, b *x509.Certificate) int {
		return cmp.Or(a.NotBefore.Compare(b.NotBefore), bytes.Compare(a.Raw, b.Raw))
	})
	return slices.CompactFunc(out, (*x509.Certificate).Equal)
}

// encodeCertificates returns the certificates in PEM, nil for none.
func encodeCertificates(certificates []*x509.Certificate) []byte {
	var out []byte
	for _, c := range certificates {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: c.Raw})...)
	}
	return out
}
