// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func TestCluster_isOneOfTwoSideBySide(t *testing.T) {
	t.Parallel()
	if one.Server == other.Server || one.Dir == other.Dir {
		t.Fatalf("both clusters are %s in %s", one.Server, one.Dir)
	}
	namespace := newNamespace(t, one)
	for _, c := range []*Cluster{one, other} {
		said, code := kubectl(t, c, "version")
		if code != 0 || !strings.Contains(said, "Server Version: "+c.Version) || !strings.Contains(said, "Client Version: "+c.Version) {
			t.Errorf("kubectl version, exit code %d:\n%s", code, said)
		}
		said, code = kubectl(t, c, "get", "namespaces", "-o", "name")
		if code != 0 || !strings.Contains(said, "namespace/kube-system\n") {
			t.Errorf("kubectl get namespaces, exit code %d:\n%s", code, said)
		}
		if found := strings.Contains(said, namespace); found != (c == one) {
			t.Errorf("a namespace of the first cluster is in this one: %t\n%s", found, said)
		}
	}
}

func TestCluster_deletesNamespacesToTheEnd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	namespaces := client(t, one).CoreV1().Namespaces()
	name := newNamespace(t, one)
	g.Expect(client(t, one).CoreV1().ConfigMaps(name).Create(t.Context(), configMap("content"), metav1.CreateOptions{})).Error().NotTo(HaveOccurred())

	g.Expect(namespaces.Delete(t.Context(), name, metav1.DeleteOptions{})).To(Succeed())
	g.Eventually(func() bool {
		_, err := namespaces.Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, soon, often).Should(BeTrue(), "the namespace is gone")
}

func TestCluster_collectsWhatADeletedOwnerOwned(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	maps := client(t, one).CoreV1().ConfigMaps(newNamespace(t, one))
	owner, err := maps.Create(t.Context(), configMap("owner"), metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	owned := configMap("owned")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	g.Expect(maps.Create(t.Context(), owned, metav1.CreateOptions{})).Error().NotTo(HaveOccurred())

	g.Expect(maps.Delete(t.Context(), owner.Name, metav1.DeleteOptions{})).To(Succeed())
	g.Eventually(func() bool {
		_, err := maps.Get(t.Context(), owned.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, soon, often).Should(BeTrue(), "the owned object is gone")
}

func TestCluster_mintsTokensOfServiceAccountsAndKnowsThem(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	namespace := newNamespace(t, one)
	accounts := client(t, one).CoreV1().ServiceAccounts(namespace)
	// A token is refused before the controller manager has made the account.
	var token *authenticationv1.TokenRequest
	g.Eventually(func() (err error) {
		token, err = accounts.CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		return err
	}, soon, often).Should(Succeed())

	config, err := one.RestConfig()
	g.Expect(err).NotTo(HaveOccurred())
	asAccount := *config
	asAccount.CertData, asAccount.KeyData = nil, nil
	asAccount.BearerToken = token.Status.Token
	c, err := kubernetes.NewForConfig(&asAccount)
	g.Expect(err).NotTo(HaveOccurred())
	review, err := c.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(review.Status.UserInfo.Username).To(Equal("system:serviceaccount:" + namespace + ":default"))

	_, err = c.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "an account without a role may not read secrets: %v", err)
}

func TestCluster_tellsEveryNamespaceWhomToTrust(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	maps := client(t, one).CoreV1().ConfigMaps(newNamespace(t, one))
	config, err := one.RestConfig()
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() (string, error) {
		root, err := maps.Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return root.Data["ca.crt"], nil
	}, soon, often).Should(Equal(string(config.CAData)))
}

func TestCluster_hasTheFeaturesAndGroupsThatWereAskedFor(t *testing.T) {
	t.Parallel()
	const group = "coordination.k8s.io/v1beta1"
	resources, err := client(t, other).Discovery().ServerResourcesForGroupVersion(group)
	if err != nil {
		t.Fatal(err)
	}
	if len(resources.APIResources) == 0 {
		t.Errorf("%s has no resources", group)
	}
	if _, err := client(t, one).Discovery().ServerResourcesForGroupVersion(group); !apierrors.IsNotFound(err) {
		t.Errorf("%s in a cluster that was not asked for it: %v", group, err)
	}
}

func TestCluster_isItsOwnersAlone(t *testing.T) {
	t.Parallel()
	err := filepath.Walk(one.Dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		isPrivate := info.Mode().Perm()&0o077 == 0
		isSecret := path == one.Dir || strings.HasSuffix(path, ".key") || strings.HasSuffix(path, ".kubeconfig")
		if isSecret && !isPrivate {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}

	config, err := clientcmd.LoadFromFile(one.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if config.CurrentContext != "holdfast-local" {
		t.Errorf("the context is named %q", config.CurrentContext)
	}
	for name, user := range config.AuthInfos {
		if user.ClientCertificate != "" || len(user.ClientCertificateData) == 0 {
			t.Errorf("the certificate of %s is not embedded", name)
		}
	}
}

func TestKubectl(t *testing.T) {
	t.Run("fails as the real one does", func(t *testing.T) {
		said, code := kubectl(t, one, "get", "configmap", "absent")
		if want := `Error from server (NotFound): configmaps "absent" not found`; code != 1 || !strings.Contains(said, want) {
			t.Errorf("exit code %d, want 1:\n%s", code, said)
		}
	})

	t.Run("applies a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "map.yaml")
		writeFile(t, file, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: applied\n")
		said, code := kubectl(t, one, "apply", "--server-side", "-n", newNamespace(t, one), "-f", file)
		if code != 0 || said != "configmap/applied serverside-applied\n" {
			t.Errorf("exit code %d:\n%s", code, said)
		}
	})

	t.Run("finds a plugin in PATH and ends as it does", func(t *testing.T) {
		bin := t.TempDir()
		plugin := filepath.Join(bin, "kubectl-greet")
		writeFile(t, plugin, "#!/bin/sh\necho \"hello $1\"\nexit 7\n")
		if err := os.Chmod(plugin, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		if said, code := kubectl(t, one, "greet", "world"); code != 7 || said != "hello world\n" {
			t.Errorf("exit code %d, want 7:\n%s", code, said)
		}
	})
}

func TestFromKubeconfig(t *testing.T) {
	t.Parallel()
	existing, err := FromKubeconfig(one.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if existing.Server != one.Server || existing.Kubectl == "" {
		t.Errorf("server %s and kubectl %q, want server %s and some kubectl", existing.Server, existing.Kubectl, one.Server)
	}
	for name, err := range map[string]error{
		"restart": existing.RestartAPIServer(t.Context()),
		"stop":    existing.StopAPIServer(t.Context()),
	} {
		if err == nil {
			t.Errorf("%s of the API server was not refused", name)
		}
	}
	if err := existing.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if _, err := client(t, existing).Discovery().ServerVersion(); err != nil {
		t.Errorf("the cluster does not run any more: %v", err)
	}

	if _, err := FromKubeconfig(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("an absent kubeconfig was taken for one")
	}
}

// newNamespace creates a namespace that no other test uses.
func newNamespace(t *testing.T, c *Cluster) string {
	t.Helper()
	namespace, err := client(t, c).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
