// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

const (
	// Namespace that Holdfast is installed in.
	Namespace = "holdfast-system"
	// ServiceAccount of the guard.
	ServiceAccount = "holdfast-guard"

	tokenSeconds = 24 * 60 * 60
)

// InstallArgs are the arguments of the kubectl that installs Holdfast, for a
// working directory at the root of the module.
var InstallArgs = []string{"apply", "--server-side", "-f", "config/crd", "-f", "config/install"}

// Install applies Holdfast's manifests with kubectl.
func Install(ctx context.Context, c *cluster.Cluster) error {
	root, err := cluster.ModuleRoot()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, c.Kubectl, append([]string{"--kubeconfig", c.Kubeconfig}, InstallArgs...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("install Holdfast: %w: %s", err, out)
	}
	return nil
}

// writeKubeconfig makes a kubeconfig for the guard's service account, so that
// the manager has that account's rights and no more.
func writeKubeconfig(ctx context.Context, admin *rest.Config, dir string) (string, error) {
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return "", fmt.Errorf("make client: %w", err)
	}
	token, err := clients.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, ServiceAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](tokenSeconds)}},
		metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("make token for %s: %w", ServiceAccount, err)
	}
	kubeconfig := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"guarded": {
			Server: admin.Host, CertificateAuthorityData: admin.CAData, CertificateAuthority: admin.CAFile,
		}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{ServiceAccount: {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"guard": {Cluster: "guarded", AuthInfo: ServiceAccount}},
		CurrentContext: "guard",
	}
	path := filepath.Join(dir, "guard.kubeconfig")
	if err := clientcmd.WriteToFile(kubeconfig, path); err != nil {
		return "", fmt.Errorf("write kubeconfig: %w", err)
	}
	return path, os.Chmod(path, 0o600)
}
