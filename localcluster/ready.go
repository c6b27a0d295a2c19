// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// checkTimeout bounds a single request of a check, so that a component that accepts a connection and
// never answers is asked again.
const checkTimeout = 5 * time.Second

// etcdCheck returns a check that etcd serves requests.
func etcdCheck(l layout, p ports) (func(context.Context) error, error) {
	config, err := etcdTLS(l)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Timeout: checkTimeout, Transport: &http.Transport{TLSClientConfig: config}}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address(p.Etcd)+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("etcd answers %s", response.Status)
		}
		client.CloseIdleConnections()
		return nil
	}, nil
}

// etcdTLS is how a client proves to etcd that it may use it.
func etcdTLS(l layout) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(l.key(etcdClientCert), l.key(etcdClientKey))
	if err != nil {
		return nil, fmt.Errorf("load the etcd client certificate: %w", err)
	}
	trusted, err := os.ReadFile(l.key(serverCA))
	if err != nil {
		return nil, fmt.Errorf("read the PKI: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}, nil
}

func newClient(kubeconfig string) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("load the kubeconfig: %w", err)
	}
	config.Timeout = checkTimeout
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	return client, nil
}

// apiServerCheck returns a check that the API server says it is ready and has the namespaces that
// objects are put in.
func apiServerCheck(client *kubernetes.Clientset) func(context.Context) error {
	return func(ctx context.Context) error {
		if _, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
			return err
		}
		for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
			if _, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		return nil
	}
}

// controllerManagerCheck returns a check that controllers work now. The default service account
// proves it only in a new cluster, so an object without its owner has to be collected as well.
func controllerManagerCheck(client *kubernetes.Clientset) func(context.Context) error {
	maps := client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	orphan := ""
	return func(ctx context.Context) error {
		if orphan == "" {
			created, err := maps.Create(ctx, newOrphan(), metav1.CreateOptions{})
			if err != nil {
				return err
			}
			orphan = created.Name
		}
		if _, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
			return err
		}
		_, err := maps.Get(ctx, orphan, metav1.GetOptions{})
		if err == nil {
			return fmt.Errorf("config map %s/%s has no owner and is not collected yet", metav1.NamespaceSystem, orphan)
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	}
}

func newOrphan() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "localcluster-probe-",
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: "localcluster-absent-owner", UID: types.UID(uuid.NewUUID()),
		}},
	}}
}
