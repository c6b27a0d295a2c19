// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

const tokenSeconds = 24 * 60 * 60

// writeKubeconfig makes a kubeconfig for the service account of a workload, so that
// the manager has that account's rights and no more.
func writeKubeconfig(ctx context.Context, admin *rest.Config, w Workload, dir string) (string, error) {
	account := "holdfast-" + string(w)
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return "", fmt.Errorf("make client: %w", err)
	}
	token, err := clients.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](tokenSeconds)}},
		metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("make token for %s: %w", account, err)
	}
	kubeconfig := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"guarded": {
			Server: admin.Host, CertificateAuthorityData: admin.CAData, CertificateAuthority: admin.CAFile,
		}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{account: {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{account: {Cluster: "guarded", AuthInfo: account}},
		CurrentContext: account,
	}
	path := filepath.Join(dir, string(w)+".kubeconfig")
	if err := clientcmd.WriteToFile(kubeconfig, path); err != nil {
		return "", fmt.Errorf("write kubeconfig: %w", err)
	}
	return path, os.Chmod(path, 0o600)
}
