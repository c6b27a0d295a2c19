// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
	"github.com/holdfast-dev/holdfast/internal/testkit/registry"
)

// secret makes a Secret for RootSyncs, or changes it.
func (r *rig) secret(short string, pairs ...string) {
	r.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: object.SyncNamespace, Name: r.name(short)}, Data: map[string][]byte{}}
	for i := 0; i < len(pairs); i += 2 {
		s.Data[pairs[i]] = []byte(pairs[i+1])
	}
	err := r.Client.Create(r.t.Context(), s.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		err = r.Client.Update(r.t.Context(), s)
	}
	r.Expect(err).NotTo(gomega.HaveOccurred())
}

func TestSource_tokenAndAuthority(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.git = gitserver.Start(t, gitserver.Options{Username: "me", Password: "one", TLS: true})
	first := r.commit("a", "x.yaml", ns("n")+cm("n", "one", "1"))
	r.from("a", fmt.Sprintf("git: {repo: %q, branch: main, auth: token, period: 1s, secretRef: {name: \"{login}\"}, caCertSecretRef: {name: \"{ca}\"}}", r.repo("a").URL()))
	r.says("a", "stalled: KNV1061: Secret {login} not found: create one to allow client authentication")
	r.secret("login", "username", "me")
	r.says("a", `git authType was set as "token" but "token" key is not present in "{login}" Secret`)
	r.secret("login", "username", "me", "token", "one")
	r.says("a", "stalled: KNV1061: Secret {ca} not found")
	r.secret("ca", "cert", r.git.CA())
	r.synced("a", first)

	// The token expires: what was applied stays in force, and drift is put back.
	r.git.SetLogin("me", "two")
	second := r.commit("a", "x.yaml", ns("n")+cm("n", "one", "2"))
	r.says("a", "KNV2004: ")
	r.delete("cm", "n/one")
	r.value("n/one", "1")
	r.secret("login", "username", "me", "token", "two")
	r.synced("a", second)
	r.value("n/one", "2")

	// Without the Secret it is the same.
	r.Expect(r.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: object.SyncNamespace, Name: r.name("login")}})).To(gomega.Succeed())
	r.says("a", "stalled: KNV1061: Secret {login} not found")
	r.delete("cm", "n/one")
	r.value("n/one", "2")
	r.secret("login", "username", "me", "token", "two")
	r.synced("a", second)
}

func TestSource_ssh(t *testing.T) {
	t.Parallel()
	r := shared(t)
	server, err := r.git.StartSSH()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	commit := r.commit("a", "x.yaml", ns("n")+cm("n", "one", "1"))
	r.secret("key", "ssh", "not a key", "known_hosts", server.KnownHosts)
	r.from("a", fmt.Sprintf("git: {repo: %q, branch: main, auth: ssh, period: 1s, secretRef: {name: \"{key}\"}}", server.URL(r.repo("a"))))
	r.says("a", "KNV2004: ")
	r.secret("key", "ssh", server.Key, "known_hosts", server.KnownHosts)
	r.synced("a", commit)
	r.manager("cm", "n/one", "a")
}

func TestSource_image(t *testing.T) {
	t.Parallel()
	r := shared(t)
	server := registry.Start(t, registry.Options{Username: "me", Password: "one", TLS: true})
	image := server.Image("o/config") + ":v1"
	layer := func(value string) string {
		return server.Push(t, image, registry.Layer(t, r.files("x.yaml", ns("n"), "dir/y.yaml", cm("n", "one", value))))
	}
	first := layer("1")
	r.secret("ca", "cert", server.CA())
	r.secret("login", "username", "me", "password", "one")
	r.from("a", fmt.Sprintf("sourceType: oci\n  oci: {image: %q, auth: token, period: 1s, secretRef: {name: \"{login}\"}, caCertSecretRef: {name: \"{ca}\"}}", image))
	r.synced("a", first[len("sha256:"):])
	r.value("n/one", "1")
	server.SetPassword("two")
	second := layer("2")
	r.says("a", "KNV2004: ")
	r.secret("login", "username", "me", "password", "two")
	r.synced("a", second[len("sha256:"):])
	r.value("n/one", "2")

	// From an image to a repository, and what is in both lives on.
	uid := r.object("cm", "n/one").GetUID()
	commit := r.commit("a", "x.yaml", ns("n")+cm("n", "one", "3"))
	r.spec("a", fmt.Sprintf(`{"sourceType":"git","oci":null,"git":{"repo":%q,"branch":"main","auth":"none","period":"1s"}}`, r.repo("a").URL()))
	r.synced("a", commit)
	r.value("n/one", "3")
	r.Expect(r.object("cm", "n/one").GetUID()).To(gomega.Equal(uid))
}

func TestSource_branchesAndRevisions(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.served = true
	main := r.syncOf("a", ns("n")+cm("n", "one", "main"))
	other := r.repo("a").Branch("other").Commit(t, r.files("x.yaml", ns("n")+cm("n", "one", "other")))
	r.spec("a", `{"git":{"branch":"nowhere"}}`)
	r.says("a", `no branch "nowhere"`)
	r.value("n/one", "main")
	r.spec("a", `{"git":{"branch":"other"}}`)
	r.synced("a", other)
	r.value("n/one", "other")
	r.spec("a", fmt.Sprintf(`{"git":{"revision":%q}}`, main))
	r.synced("a", main)
	r.value("n/one", "main")
	r.spec("a", `{"git":{"revision":"v1"}}`)
	r.says("a", `no tag, branch or commit "v1"`)
	r.repo("a").Tag(t, "v1", other, "")
	r.synced("a", other)
	r.value("n/one", "other")

	// A force-push is a commit like any other.
	r.spec("a", `{"git":{"revision":null,"branch":"main"}}`)
	r.synced("a", main)
	forced := r.repo("a").Rewrite(t, r.files("x.yaml", ns("n")+cm("n", "two", "forced")))
	r.synced("a", forced)
	r.manager("cm", "n/one", "-")
	r.repo("a").Reset(t, main)
	r.synced("a", main)
	r.manager("cm", "n/two", "-")
	r.value("n/one", "main")
}

func TestSource_foldersAndKustomizations(t *testing.T) {
	t.Parallel()
	r := shared(t)
	base := []string{
		"plain/x.yaml", cm("n", "plain", "1"), "ns.yaml", ns("n"),
		"base/kustomization.yaml", "resources: [x.yaml]\n", "base/x.yaml", cm("n", "one", "base"),
	}
	first := r.commit("a", base...)
	r.from("a", fmt.Sprintf("git: {repo: %q, branch: main, auth: none, period: 1s, dir: overlay}", r.url("a")))
	r.says("a", "KNV2004: the directory overlay is not in the repository at this commit")
	overlay := slices.Concat(base, []string{"overlay/ns.yaml", ns("n"), "overlay/kustomization.yaml",
		"resources: [../base, ns.yaml]\npatches:\n- patch: '[{\"op\":\"replace\",\"path\":\"/data/v\",\"value\":\"overlay\"}]'\n  target: {kind: ConfigMap}\n"})
	r.synced("a", r.commit("a", overlay...))
	r.value("n/one", "overlay")
	r.Expect(r.rootSync("a").Status.Rendering.Message).To(gomega.Equal("Rendering succeeded"))

	// One that is wrong leaves what there is.
	r.commit("a", slices.Concat(overlay, []string{"overlay/kustomization.yaml", "resources: [missing.yaml]\n"})...)
	r.says("a", "KNV1068: ")
	r.delete("cm", "n/one")
	r.value("n/one", "overlay")
	r.repo("a").Reset(t, first)
	r.says("a", "is not in the repository")
	r.value("n/one", "overlay")
	r.spec("a", `{"git":{"dir":"plain"}}`)
	r.synced("a", first)
	r.manager("cm", "n/plain", "a")
	r.manager("cm", "n/one", "-")
}

// A kustomization that would take all memory, or all time, fails its own RootSync.
func TestKustomize_oneThatTakesAllMemory(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	var patches strings.Builder
	for i := range 40 {
		fmt.Fprintf(&patches, "    - {op: copy, from: /data, path: /data/x%d}\n", i)
	}
	r.commit("a", "x.yaml", cm("n", "one", "1"), "kustomization.yaml", "resources: [x.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |\n"+patches.String())
	r.sync("a")
	r.says("a", "KNV1068: the kustomization of the root of the repository needs more than 512 MiB of memory")
	other := r.commit("b", "x.yaml", ns("n")+cm("n", "two", "1"), "kustomization.yaml", "resources: [x.yaml]\n")
	r.sync("b")
	r.synced("b", other)
	r.synced("a", r.commit("a", "x.yaml", cm("n", "one", "1"), "kustomization.yaml", "resources: [x.yaml]\n"))
	r.Expect(r.Sync.Done()).NotTo(gomega.BeClosed())
}

// What was applied of a submodule, by Config Sync, is not pruned since its files are not fetched.
func TestSource_aSubmoduleStopsTheCommit(t *testing.T) {
	t.Parallel()
	r := shared(t)
	first := r.commit("a", "x.yaml", ns("n"), "sub/y.yaml", cm("n", "one", "1"))
	r.sync("a", "")
	r.synced("a", first)
	r.commit("a", "x.yaml", ns("n"), "sub", gitserver.Submodule(strings.Repeat("a", 40)))
	r.says("a", "KNV2004: sub is a Git submodule, and submodules are not fetched")
	r.value("n/one", "1")
}
