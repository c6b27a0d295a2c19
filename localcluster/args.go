// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strconv"
	"strings"
)

// layout is where the files of one cluster are.
type layout struct{ dir string }

func (l layout) lock() string            { return filepath.Join(l.dir, "localcluster.lock") }
func (l layout) ports() string           { return filepath.Join(l.dir, "ports.json") }
func (l layout) pki() string             { return filepath.Join(l.dir, "pki") }
func (l layout) key(name string) string  { return filepath.Join(l.pki(), name) }
func (l layout) etcdData() string        { return filepath.Join(l.dir, "etcd") }
func (l layout) flexVolumes() string     { return filepath.Join(l.dir, "flexvolume") }
func (l layout) adminKubeconfig() string { return filepath.Join(l.dir, "admin.kubeconfig") }
func (l layout) controllersKubeconfig() string {
	return filepath.Join(l.dir, "controller-manager.kubeconfig")
}
func (l layout) log(component string) string {
	return filepath.Join(l.dir, strings.TrimPrefix(component, "kube-")+".log")
}

// etcdArgs makes etcd fast rather than durable: it survives the end of its process, not that of the
// machine. It listens only for the API server, which is the one holder of a client certificate.
func etcdArgs(l layout, p ports) []string {
	return []string{
		"--data-dir=" + l.etcdData(),
		"--unsafe-no-fsync",
		"--log-level=warn",
		"--listen-client-urls=https://" + address(p.Etcd),
		"--advertise-client-urls=https://" + address(p.Etcd),
		"--cert-file=" + l.key(serverCert),
		"--key-file=" + l.key(serverKey),
		"--client-cert-auth",
		"--trusted-ca-file=" + l.key(serverCA),
		// A single member never calls a peer, but cannot be told not to listen for one.
		"--listen-peer-urls=https://" + address(0),
		"--peer-cert-file=" + l.key(serverCert),
		"--peer-key-file=" + l.key(serverKey),
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + l.key(serverCA),
	}
}

func apiServerArgs(l layout, p ports, o options) []string {
	args := []string{
		"--etcd-servers=https://" + address(p.Etcd),
		"--etcd-cafile=" + l.key(serverCA),
		"--etcd-certfile=" + l.key(etcdClientCert),
		"--etcd-keyfile=" + l.key(etcdClientKey),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(p.APIServer),
		"--tls-cert-file=" + l.key(serverCert),
		"--tls-private-key-file=" + l.key(serverKey),
		"--client-ca-file=" + l.key(clientCA),
		// How the API server proves to an extension API server that it may name users, and how it names
		// them.
		"--proxy-client-cert-file=" + l.key(frontProxyCert),
		"--proxy-client-key-file=" + l.key(frontProxyKey),
		"--requestheader-client-ca-file=" + l.key(frontProxyCA),
		"--requestheader-allowed-names=" + frontProxyName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-uid-headers=X-Remote-Uid",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--authorization-mode=RBAC",
		"--allow-privileged",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + l.key(serviceAccountPub),
		"--service-account-signing-key-file=" + l.key(serviceAccountKey),
		"--service-cluster-ip-range=10.96.0.0/16",
		// A loopback address must not become an endpoint of the service "kubernetes", and without the
		// first flag the API server refuses to start on a machine that has no other address.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		// Without it the API server does not end before the last watch does.
		"--shutdown-watch-termination-grace-period=1s",
	}
	args = appendJoined(args, "--feature-gates=", o.featureGates)
	args = appendJoined(args, "--runtime-config=", o.runtimeConfig)
	return append(args, o.apiServerArgs...)
}

func controllerManagerArgs(l layout, o options) []string {
	args := []string{
		"--kubeconfig=" + l.controllersKubeconfig(),
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + l.key(serviceAccountKey),
		"--root-ca-file=" + l.key(serverCA),
		"--cluster-signing-cert-file=" + l.key(clientCA),
		"--cluster-signing-key-file=" + l.key(clientCAKey),
		"--leader-elect=false",
		"--secure-port=0",
		// Its default folder is a system folder, which it would create.
		"--flex-volume-plugin-dir=" + l.flexVolumes(),
		// The default limit of 20 requests a second would spread the start over several seconds.
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	}
	args = appendJoined(args, "--feature-gates=", o.featureGates)
	return append(args, o.controllerManagerArgs...)
}

// appendJoined appends one flag with all values. A repeated flag would do for the components' maps
// too; one flag is what a reader of the process list expects.
func appendJoined(args []string, flag string, values []string) []string {
	if len(values) == 0 {
		return args
	}
	return append(args, flag+strings.Join(values, ","))
}
