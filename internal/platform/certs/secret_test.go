// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDecode_readsBackWhatEncodeWrites(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		state func(t *testing.T) (State, time.Time)
		keys  int
	}{
		{"nothing", func(*testing.T) (State, time.Time) { return State{}, start }, 0},
		{"a new installation", installed, 4},
		{"a next authority", inRotationAt, 5},
		{"an old authority", rotatedAt, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, _ := tt.state(t)
			data := mustEncode(t, s)
			if len(data) != tt.keys {
				t.Errorf("%d keys, want %d", len(data), tt.keys)
			}
			got, problems := Decode(data)
			if diff := cmp.Diff(s, got); diff != "" || len(problems) > 0 {
				t.Errorf("problems %v, state (-want +got):\n%s", problems, diff)
			}
		})
	}
}

func TestDecode_damage(t *testing.T) {
	t.Parallel()
	garbage := []byte("-----BEGIN garbage")
	set := func(key string, value []byte) func(map[string][]byte) {
		return func(data map[string][]byte) { data[key] = value }
	}
	remove := func(key string) func(map[string][]byte) {
		return func(data map[string][]byte) { delete(data, key) }
	}
	freshCertificate := []string{actionIssueServing}
	freshAuthority := []string{actionIssueAuthority, actionIssueServing}
	nextAuthority := []string{actionPromote, actionIssueServing}
	foreign := newKey(t, elliptic.P256())
	tests := []struct {
		name     string
		damage   func(map[string][]byte)
		problems string
		did      []string
	}{
		{"the certificate is missing", remove(keyServingCertificate), "tls.crt: missing", freshCertificate},
		{"the certificate is garbage", set(keyServingCertificate, garbage), "tls.crt: is not PEM throughout", freshCertificate},
		{"the certificate is something else", set(keyServingCertificate, foreign), "tls.crt: holds something that is no certificate", freshCertificate},
		{"the certificate is empty in its block", set(keyServingCertificate, pem.EncodeToMemory(&pem.Block{Type: blockCertificate})), "tls.crt: parse certificate: x509: malformed certificate", freshCertificate},
		{"the key is missing", remove(keyServingKey), "tls.key: missing", freshCertificate},
		{"the key is garbage", set(keyServingKey, garbage), "tls.key: is not a private key in PEM", freshCertificate},
		{"the key is broken in its block", set(keyServingKey, pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: garbage})), "tls.key: is not a private key in PKCS #8", freshCertificate},
		{"the key is of another kind", set(keyServingKey, newKey(t, elliptic.P384())), "tls.key: is not an ECDSA P-256 key", freshCertificate},
		{"the key is of another certificate", set(keyServingKey, foreign), "tls.key: is not the key of the certificate in tls.crt", freshCertificate},
		{"the key of the authority is missing", remove(keyAuthorityKey), "ca.key: missing", nextAuthority},
		{"the key of the authority is of another", set(keyAuthorityKey, foreign), "ca.key: is not the key of any certificate in ca.crt", nextAuthority},
		{"the key of the next authority is garbage", set(keyNextKey, garbage), "next-ca.key: is not a private key in PEM", []string{actionAnnounce}},
		{"both keys are lost", func(data map[string][]byte) { delete(data, keyAuthorityKey); delete(data, keyNextKey) }, "ca.key: missing", freshAuthority},
		{"the bundle is missing", remove(keyTrusted), "ca.crt: missing\nca.key: is not the key of any certificate in ca.crt\nnext-ca.key: is not the key of any certificate in ca.crt", freshAuthority},
		{"the bundle has text behind it", func(data map[string][]byte) { data[keyTrusted] = append(data[keyTrusted], "see here"...) }, "ca.crt: is not PEM throughout", nil},
		{"the bundle holds a serving certificate", func(data map[string][]byte) {
			data[keyTrusted] = append(data[keyTrusted], data[keyServingCertificate]...)
		}, "ca.crt: holds a certificate that is no authority", nil},
		{"the time is garbage", set(keySince, garbage), "ca.since: is not a time", nil},
		{"everything is garbage", func(data map[string][]byte) {
			for key := range data {
				data[key] = garbage
			}
		}, "ca.crt: is not PEM throughout\ntls.crt: is not PEM throughout\ntls.key: is not a private key in PEM\nca.key: is not a private key in PEM\nnext-ca.key: is not a private key in PEM", freshAuthority},
		{"everything is gone", func(data map[string][]byte) { clear(data) }, "", freshAuthority},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, at := inRotation(t)
			good := mustEncode(t, s)
			data := maps.Clone(good)
			tt.damage(data)

			damaged, problems := Decode(data)
			got := ""
			if err := errors.Join(problems...); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.problems, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			after, did, _ := mustNext(t, damaged, at, defaults())
			if diff := cmp.Diff(tt.did, did); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			checkServing(t, after, defaults(), at)
			if tt.did == nil {
				if diff := cmp.Diff(good, mustEncode(t, after)); diff != "" {
					t.Errorf("it was not repaired (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestDecode_saysNothingOfTheContent(t *testing.T) {
	t.Parallel()
	data := map[string][]byte{}
	for _, key := range ownKeys {
		data[key] = []byte("-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\nsecret")
	}
	_, problems := Decode(data)
	if err := errors.Join(problems...); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("problems %v", err)
	}
}

func newKey(t *testing.T, curve elliptic.Curve) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: raw})
}

// FuzzDecode puts anything into the Secret: whatever it is, the next state works,
// is written as it is read, and stays as it is. Fresh keys make the coverage of
// two equal runs differ: keep -fuzzminimizetime short.
func FuzzDecode(f *testing.F) {
	state, _, _, err := Next(State{}, start, defaults())
	if err != nil {
		f.Fatal(err)
	}
	later := start.Add(5 * year / 3 * 2).Add(time.Second)
	if state, _, _, err = Next(state, later, defaults()); err != nil {
		f.Fatal(err)
	}
	data := mustEncode(f, state)
	add := func(data map[string][]byte) {
		f.Add(data[keyServingCertificate], data[keyServingKey], data[keyTrusted], data[keyAuthorityKey], data[keyNextKey], data[keySince])
	}
	add(nil)
	add(data)
	add(mustEncode(f, State{Serving: state.Serving, Authority: clientsOnly(f), Next: clientsOnly(f)}))
	for key := range data {
		without := maps.Clone(data)
		delete(without, key)
		add(without)
		half := maps.Clone(data)
		half[key] = half[key][:len(half[key])/2]
		add(half)
		swapped := maps.Clone(data)
		swapped[key] = data[keyAuthorityKey]
		add(swapped)
	}
	f.Fuzz(func(t *testing.T, servingCertificate, servingKey, trusted, authorityKey, nextKey, since []byte) {
		before, _ := Decode(map[string][]byte{
			keyServingCertificate: servingCertificate,
			keyServingKey:         servingKey,
			keyTrusted:            trusted,
			keyAuthorityKey:       authorityKey,
			keyNextKey:            nextKey,
			keySince:              since,
		})
		after, _, _, err := Next(before, later, defaults())
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		if err := accepted(after.Serving.Certificate, bundleOf(after), host, later); err != nil {
			t.Fatalf("the API server refuses the certificate: %v", err)
		}
		read, problems := Decode(mustEncode(t, after))
		if diff := cmp.Diff(after, read); diff != "" || len(problems) > 0 {
			t.Fatalf("read back with the problems %v (-want +got):\n%s", problems, diff)
		}
		again, steps, _, err := Next(read, later, defaults())
		if err != nil || len(steps) > 0 || !bytes.Equal(bundleOf(again), bundleOf(after)) {
			t.Fatalf("asked again: steps %v, error %v", steps, err)
		}
	})
}
