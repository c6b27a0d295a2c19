// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Files of the PKI folder. Two authorities keep apart what must not be mixed: whoever gets a client
// certificate signed through the cluster's CertificateSigningRequest API is known to the API server
// only, never to etcd.
const (
	serverCA              = "server-ca.crt" // trusted by clients and, for its one client, by etcd
	serverCert            = "server.crt"
	serverKey             = "server.key"
	etcdClientCert        = "etcd-client.crt"
	etcdClientKey         = "etcd-client.key"
	clientCA              = "client-ca.crt" // trusted by the API server
	clientCAKey           = "client-ca.key" // kept: the controller manager signs with it
	adminCert             = "admin.crt"
	adminKey              = "admin.key"
	controllerManagerCert = "controller-manager.crt"
	controllerManagerKey  = "controller-manager.key"
	serviceAccountKey     = "service-account.key"
	serviceAccountPub     = "service-account.pub"

	// The API server shows this certificate to the extension API servers that it passes requests on to.
	// They believe its owner whoever it says that a user is, so that the authority signs no other.
	frontProxyCA   = frontProxyDir + "/ca.crt"
	frontProxyCert = frontProxyDir + "/client.crt"
	frontProxyKey  = frontProxyDir + "/client.key"
	frontProxyDir  = "front-proxy"
	frontProxyName = "front-proxy-client"
)

// apiServerNames are what the API server is called, from this machine and in a cluster.
var apiServerNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}

// certificateLifetime is long because a kept cluster folder must start again after a year.
const certificateLifetime = 10 * 365 * 24 * time.Hour

// ensurePKI makes the keys and certificates of a cluster in dir unless they are there already. Those of
// the front proxy are in a folder of their own, because a cluster that was made without them gets them
// when it starts again.
func ensurePKI(dir string) error {
	if err := ensureFiles(dir, newPKI); err != nil {
		return err
	}
	return ensureFiles(filepath.Join(dir, frontProxyDir), newFrontProxyPKI)
}

// ensureFiles makes the folder dir, with the files that contents returns, unless it is there already.
func ensureFiles(dir string, contents func() (map[string][]byte, error)) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	files, err := contents()
	if err != nil {
		return err
	}
	// The folder appears complete or not at all, so that an interrupted start leaves nothing half made.
	unfinished := dir + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return fmt.Errorf("remove an unfinished PKI: %w", err)
	}
	if err := os.Mkdir(unfinished, 0o700); err != nil {
		return fmt.Errorf("create the PKI: %w", err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(unfinished, name), content, 0o600); err != nil {
			return fmt.Errorf("write the PKI: %w", err)
		}
	}
	if err := os.Rename(unfinished, dir); err != nil {
		return fmt.Errorf("put the PKI in place: %w", err)
	}
	return nil
}

// newPKI returns the content of every file of the PKI folder by name.
func newPKI() (map[string][]byte, error) {
	servers, err := newAuthority("holdfast-local-server-ca")
	if err != nil {
		return nil, err
	}
	clients, err := newAuthority("holdfast-local-client-ca")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		serverCA: encodeCertificate(servers.cert.Raw),
		clientCA: encodeCertificate(clients.cert.Raw),
	}
	if files[clientCAKey], err = encodeKey(clients.key); err != nil {
		return nil, err
	}

	for _, leaf := range []struct {
		cert, key string
		authority *authority
		subject   pkix.Name
		names     []string
	}{
		{cert: serverCert, key: serverKey, authority: servers, subject: pkix.Name{CommonName: "kube-apiserver"}, names: apiServerNames},
		{cert: etcdClientCert, key: etcdClientKey, authority: servers, subject: pkix.Name{CommonName: "kube-apiserver-etcd-client"}},
		{cert: adminCert, key: adminKey, authority: clients, subject: pkix.Name{CommonName: "holdfast-local-admin", Organization: []string{"system:masters"}}},
		{cert: controllerManagerCert, key: controllerManagerKey, authority: clients, subject: pkix.Name{CommonName: "system:kube-controller-manager"}},
	} {
		files[leaf.cert], files[leaf.key], err = leaf.authority.issue(leaf.subject, leaf.names...)
		if err != nil {
			return nil, err
		}
	}

	key, err := newKey()
	if err != nil {
		return nil, err
	}
	if files[serviceAccountKey], err = encodeKey(key); err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("encode the service account public key: %w", err)
	}
	files[serviceAccountPub] = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	return files, nil
}

// newFrontProxyPKI returns the content of every file of the front proxy's folder by name. The authority
// ends with this call: its key is kept nowhere.
func newFrontProxyPKI() (map[string][]byte, error) {
	proxies, err := newAuthority("holdfast-local-front-proxy-ca")
	if err != nil {
		return nil, err
	}
	cert, key, err := proxies.issue(pkix.Name{CommonName: frontProxyName})
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		filepath.Base(frontProxyCA):   encodeCertificate(proxies.cert.Raw),
		filepath.Base(frontProxyCert): cert,
		filepath.Base(frontProxyKey):  key,
	}, nil
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(name string) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template, err := newTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create the authority %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse the authority %s: %w", name, err)
	}
	return &authority{cert: cert, key: key}, nil
}

// issue returns a client certificate for subject and its key, both in PEM; with names the certificate
// also serves them and this machine's loopback addresses.
func (a *authority) issue(subject pkix.Name, names ...string) (cert, key []byte, err error) {
	private, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	template, err := newTemplate(subject)
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(names) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
		template.DNSNames = names
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("create the certificate of %s: %w", subject.CommonName, err)
	}
	if key, err = encodeKey(private); err != nil {
		return nil, nil, err
	}
	return encodeCertificate(der), key, nil
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("choose a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-5 * time.Minute), // a clock that steps back must not make it invalid
		NotAfter:     now.Add(certificateLifetime),
	}, nil
}

// newKey returns an elliptic-curve key: unlike an RSA key it is made in no time.
func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	return key, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
