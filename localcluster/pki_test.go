// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestEnsurePKI(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "pki")
	if err := ensurePKI(dir); err != nil {
		t.Fatal(err)
	}

	t.Run("every certificate is trusted by the one authority it should be", func(t *testing.T) {
		tests := []struct {
			cert, trustedBy, notBy, dnsName string
			usage                           x509.ExtKeyUsage
		}{
			{cert: serverCert, trustedBy: serverCA, notBy: clientCA, usage: x509.ExtKeyUsageServerAuth, dnsName: "localhost"},
			{cert: serverCert, trustedBy: serverCA, notBy: clientCA, usage: x509.ExtKeyUsageServerAuth, dnsName: "127.0.0.1"},
			{cert: etcdClientCert, trustedBy: serverCA, notBy: clientCA, usage: x509.ExtKeyUsageClientAuth},
			{cert: adminCert, trustedBy: clientCA, notBy: serverCA, usage: x509.ExtKeyUsageClientAuth},
			{cert: controllerManagerCert, trustedBy: clientCA, notBy: serverCA, usage: x509.ExtKeyUsageClientAuth},
			{cert: frontProxyCert, trustedBy: frontProxyCA, notBy: clientCA, usage: x509.ExtKeyUsageClientAuth},
			{cert: adminCert, trustedBy: clientCA, notBy: frontProxyCA, usage: x509.ExtKeyUsageClientAuth},
		}
		for _, tt := range tests {
			verify := func(authority string, at time.Time) error {
				roots := x509.NewCertPool()
				roots.AddCert(readCertificate(t, dir, authority))
				_, err := readCertificate(t, dir, tt.cert).Verify(x509.VerifyOptions{
					Roots: roots, DNSName: tt.dnsName, KeyUsages: []x509.ExtKeyUsage{tt.usage}, CurrentTime: at,
				})
				return err
			}
			if err := verify(tt.trustedBy, time.Now()); err != nil {
				t.Errorf("%s by %s: %v", tt.cert, tt.trustedBy, err)
			}
			if err := verify(tt.trustedBy, time.Now().AddDate(2, 0, 0)); err != nil {
				t.Errorf("%s by %s in two years: %v", tt.cert, tt.trustedBy, err)
			}
			if err := verify(tt.notBy, time.Now()); err == nil {
				t.Errorf("%s is trusted by %s as well", tt.cert, tt.notBy)
			}
		}
	})

	t.Run("only the owner can read anything", func(t *testing.T) {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %o", path, info.Mode().Perm())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})

	t.Run("a second start keeps the keys", func(t *testing.T) {
		before := readCertificate(t, dir, serverCert)
		if err := ensurePKI(dir); err != nil {
			t.Fatal(err)
		}
		if !before.Equal(readCertificate(t, dir, serverCert)) {
			t.Error("the server certificate changed")
		}
	})

	t.Run("a folder from before there was a front proxy gets its certificate and keeps the other keys", func(t *testing.T) {
		before := readCertificate(t, dir, serverCert)
		if err := os.RemoveAll(filepath.Join(dir, frontProxyDir)); err != nil {
			t.Fatal(err)
		}
		if err := ensurePKI(dir); err != nil {
			t.Fatal(err)
		}
		if !before.Equal(readCertificate(t, dir, serverCert)) {
			t.Error("the server certificate changed")
		}
		readCertificate(t, dir, frontProxyCert)
	})
}

func readCertificate(t *testing.T, dir, name string) *x509.Certificate {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		t.Fatalf("%s holds no PEM block", name)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatalf("parse %s: %v", name, err)
	}
	return cert
}
