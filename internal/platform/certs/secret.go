// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The keys of the Secret; the package comment explains them.
const (
	keyServingCertificate = corev1.TLSCertKey
	keyServingKey         = corev1.TLSPrivateKeyKey
	keyTrusted            = "ca.crt"
	keyAuthorityKey       = "ca.key"
	keyNextKey            = "next-ca.key"
	keySince              = "ca.since"
)

// ownKeys are all keys of the Secret that Holdfast writes; it leaves others alone.
var ownKeys = []string{
	keyServingCertificate, keyServingKey, keyTrusted, keyAuthorityKey, keyNextKey, keySince,
}

// The types of PEM blocks.
const (
	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"
)

var errMissing = errors.New("missing")

// Encode returns what the Secret must hold for a state.
func Encode(s State) (map[string][]byte, error) {
	data := map[string][]byte{}
	for key, pair := range map[string]*Pair{keyServingKey: s.Serving, keyAuthorityKey: s.Authority, keyNextKey: s.Next} {
		if pair == nil {
			continue
		}
		raw, err := x509.MarshalPKCS8PrivateKey(pair.Key)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", key, err)
		}
		data[key] = pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: raw})
	}
	if s.Serving != nil {
		data[keyServingCertificate] = encodeCertificates([]*x509.Certificate{s.Serving.Certificate})
	}
	if trusted := encodeCertificates(s.Trusted()); trusted != nil {
		data[keyTrusted] = trusted
	}
	if !s.Since.IsZero() {
		data[keySince] = []byte(s.Since.UTC().Format(time.RFC3339))
	}
	return data, nil
}

// Decode reads what the Secret holds. What cannot be read is left out of the
// state, with one problem for each key concerned, which names the key and never
// its content. A Secret without any content is no problem. An authority whose
// key is lost is among the retired ones: it cannot sign, but certificates that
// it has signed are in use.
func Decode(data map[string][]byte) (State, []error) {
	if len(data) == 0 {
		return State{}, nil
	}
	d := decoder{data: data}
	trusted := d.authorities()
	s := State{Serving: d.serving(), Since: d.since()}
	s.Authority, trusted = d.authority(keyAuthorityKey, trusted)
	if _, ok := data[keyNextKey]; ok {
		s.Next, trusted = d.authority(keyNextKey, trusted)
	}
	s.Retired = trusted
	return s, d.problems
}

// decoder collects the problems of one Secret.
type decoder struct {
	data     map[string][]byte
	problems []error
}

func (d *decoder) problem(key string, err error) {
	d.problems = append(d.problems, fmt.Errorf("%s: %w", key, err))
}

// certificates returns those under a key that can be read.
func (d *decoder) certificates(key string) []*x509.Certificate {
	certificates, err := parseCertificates(d.data[key])
	if err != nil {
		d.problem(key, err)
	}
	return certificates
}

// authorities returns the certificates that may be trusted as such.
func (d *decoder) authorities() []*x509.Certificate {
	var out []*x509.Certificate
	for _, c := range sorted(d.certificates(keyTrusted)) {
		if !c.BasicConstraintsValid || !c.IsCA {
			d.problem(keyTrusted, errors.New("holds a certificate that is no authority"))
			continue
		}
		out = append(out, c)
	}
	return out
}

func (d *decoder) serving() *Pair {
	certificates := d.certificates(keyServingCertificate)
	key, err := parseKey(d.data[keyServingKey])
	if err != nil {
		d.problem(keyServingKey, err)
		return nil
	}
	if len(certificates) == 0 {
		return nil
	}
	if !key.PublicKey.Equal(certificates[0].PublicKey) {
		d.problem(keyServingKey, fmt.Errorf("is not the key of the certificate in %s", keyServingCertificate))
		return nil
	}
	return &Pair{Certificate: certificates[0], Key: key}
}

// authority finds the certificate of the key under a key of the Secret, and
// returns the other certificates beside it.
func (d *decoder) authority(name string, trusted []*x509.Certificate) (*Pair, []*x509.Certificate) {
	key, err := parseKey(d.data[name])
	if err != nil {
		d.problem(name, err)
		return nil, trusted
	}
	for i, c := range trusted {
		if key.PublicKey.Equal(c.PublicKey) {
			return &Pair{Certificate: c, Key: key}, slices.Concat(trusted[:i], trusted[i+1:])
		}
	}
	d.problem(name, fmt.Errorf("is not the key of any certificate in %s", keyTrusted))
	return nil, trusted
}

func (d *decoder) since() time.Time {
	raw, ok := d.data[keySince]
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, string(raw))
	if err != nil {
		d.problem(keySince, errors.New("is not a time"))
		return time.Time{}
	}
	return t.UTC()
}

// parseCertificates returns the certificates that can be read, and an error if
// there is anything else or nothing.
func parseCertificates(raw []byte) ([]*x509.Certificate, error) {
	if len(raw) == 0 {
		return nil, errMissing
	}
	var out []*x509.Certificate
	var problem error
	for len(bytes.TrimSpace(raw)) > 0 {
		var block *pem.Block
		if block, raw = pem.Decode(raw); block == nil {
			problem = errors.New("is not PEM throughout")
			break
		}
		c, err := parseCertificate(block)
		if err != nil {
			problem = err
			continue
		}
		out = append(out, c)
	}
	return out, problem
}

func parseCertificate(block *pem.Block) (*x509.Certificate, error) {
	if block.Type != blockCertificate {
		return nil, errors.New("holds something that is no certificate")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse certificate: %w", err)
	}
	return c, nil
}

// parseKey accepts only what Encode writes: ECDSA P-256. Errors do not repeat
// those of the parser, which may carry parts of the content.
func parseKey(raw []byte) (*ecdsa.PrivateKey, error) {
	if len(raw) == 0 {
		return nil, errMissing
	}
	block, _ := pem.Decode(raw)
	if block == nil || block.Type != blockKey {
		return nil, errors.New("is not a private key in PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("is not a private key in PKCS #8")
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, errors.New("is not an ECDSA P-256 key")
	}
	return key, nil
}
