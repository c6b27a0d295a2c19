// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// stranger connects to the webhook port from another address than the API server, where this machine has one.
func stranger(t *testing.T, webhooks string) net.Conn {
	t.Helper()
	address := strings.TrimPrefix(webhooks, "https://")
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	c, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		c, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ended waits until the server has closed a connection.
func ended(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(90 * time.Second))
	if _, err := io.Copy(io.Discard, c); os.IsTimeout(err) {
		t.Error("the server still waits for this client")
	}
	_ = c.Close()
}

// reviewed deletes two namespaces as a dry run, one of which holds something protected. Only the webhook lets the other go.
func (r *rig) reviewed() {
	r.T.Helper()
	r.Eventually(func() string { return r.Run("delete namespace {empty} --dry-run=server").Stderr }, story.Patience, story.Slower).Should(gomega.BeEmpty())
	r.Eventually(func() string { return r.Run("delete namespace {shop} --dry-run=server").Stderr }, story.Patience, story.Slower).Should(gomega.ContainSubstring("configmaps/kept"))
}

// Many clients send most of a large body and then nothing. The memory for bodies is bounded, each of them is left soon, and
// the API server is answered all the while.
func TestM4_slowBodies(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(ns("{empty}") + ns("{shop}") + protectedCM)
	r.reviewed()
	const all = 7 << 20
	var slow sync.WaitGroup
	for path := range strings.FieldsSeq(strings.Repeat("/validate-objects /confirm-deletion /drainer ", 20)) {
		slow.Go(func() {
			c := tls.Client(stranger(t, r.Manager.Webhooks), &tls.Config{InsecureSkipVerify: true})
			_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, all)
			go func() { _, _ = c.Write(make([]byte, all-1)) }() // until the server has left
			ended(t, c)
		})
	}
	for range 5 {
		r.reviewed()
		r.Expect(r.Metric(t, "holdfast_webhook_body_bytes")).To(gomega.BeNumerically("<=", 32<<20))
	}
	slow.Wait()
	// Those that a slow machine has not shaken hands with in time are not counted.
	r.Expect(r.Metric(t, "holdfast_webhook_turned_away_total")).To(gomega.BeNumerically(">=", 30))
	r.reviewed()
}

// A client holds more connections than there may be.
func TestM4_manyConnections(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(ns("{empty}") + ns("{shop}") + protectedCM)
	r.reviewed()
	var slow sync.WaitGroup
	for range 1100 {
		c := stranger(t, r.Manager.Webhooks)
		slow.Go(func() { ended(t, c) })
	}
	for range 5 {
		r.reviewed()
		r.Expect(r.Metric(t, "holdfast_webhook_connections")).To(gomega.BeNumerically("<=", 1024))
	}
	slow.Wait()
	r.reviewed()
}

const protectedCM = `{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: "{shop}", labels: {` + protected + "}}}\n---\n"

// post posts a review that no API server has sent.
func (r *rig) post(path, request string) string {
	r.T.Helper()
	body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"forged","operation":"DELETE",` +
		`"userInfo":{"username":"kubernetes-admin","groups":["system:masters"]},"options":{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1"},` + r.Long(request) + `}}`
	_, text := r.send(path, body, nil)
	return text
}

// send posts a body to the webhook port, with more headers, and returns the status and the body of the answer.
func (r *rig) send(path, body string, header http.Header) (int, string) {
	r.T.Helper()
	req, err := http.NewRequestWithContext(r.T.Context(), http.MethodPost, r.Manager.Webhooks+path, strings.NewReader(body))
	r.Expect(err).NotTo(gomega.HaveOccurred())
	req.Header.Set("Content-Type", "application/json")
	maps.Copy(req.Header, header)
	resp, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}).Do(req)
	r.Expect(err).NotTo(gomega.HaveOccurred())
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	r.Expect(err).NotTo(gomega.HaveOccurred())
	return resp.StatusCode, string(text)
}

// forgedDelete is the review of the deletion of a Namespace, or of a definition.
func forgedDelete(resource, kind, name, uid, spec string) string {
	group := map[string]string{"Namespace": "", "CustomResourceDefinition": "apiextensions.k8s.io"}[kind]
	return fmt.Sprintf(`"name":%q,"kind":{"group":%q,"version":"v1","kind":%q},"resource":{"group":%q,"version":"v1","resource":%q},"oldObject":{"kind":%q,"metadata":{"name":%q,"uid":%q},"spec":%s}`,
		name, group, kind, group, resource, kind, name, uid, spec)
}

// What hangs below a namespace is told to who knows its UID, who may read it. No review learns of anything else, by whatever
// it says of names and kinds, and none learns the name of a Secret.
func TestM4_forgedReviews(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(ns("{empty}") + ns("{shop}") + protectedCM +
		`{apiVersion: v1, kind: Secret, metadata: {name: a-password, namespace: "{shop}", labels: {` + protected + `}}}` + "\n---\n" +
		`{apiVersion: v1, kind: Secret, metadata: {name: a-password, namespace: "{empty}"}}`)
	r.reviewed()
	uid := func(what string) string { return r.Run("get " + what + " -o jsonpath={.metadata.uid}").Stdout }
	shop := r.Long("{shop}")
	const confirm, namespaces, definitions = "/confirm-deletion", "namespaces", "customresourcedefinitions"
	crd := "deletionoverrides.holdfast.dev"
	secrets := `{"group":"","scope":"Namespaced","names":{"plural":"secrets","kind":"Secret"},"versions":[{"name":"v1","served":true,"storage":true}]}`
	for name, tt := range map[string]struct {
		request string
		knows   bool
	}{
		"the namespace":                       {request: forgedDelete(namespaces, "Namespace", shop, uid("ns {shop}"), "{}"), knows: true},
		"the namespace, without its UID":      {request: forgedDelete(namespaces, "Namespace", shop, "", "{}")},
		"the namespace, with another UID":     {request: forgedDelete(namespaces, "Namespace", shop, uid("ns {empty}"), "{}")},
		"a path to all that is in one":        {request: forgedDelete(namespaces, "Namespace", shop+"/../"+shop, uid("ns {shop}"), "{}")},
		"a path to all namespaces":            {request: forgedDelete(namespaces, "Namespace", "..", "", "{}")},
		"Secrets as a definition":             {request: forgedDelete(definitions, "CustomResourceDefinition", "secrets.", "", secrets)},
		"Secrets as a definition that exists": {request: forgedDelete(definitions, "CustomResourceDefinition", crd, uid("crd "+crd), secrets)},
		"another kind than the definition's": {request: forgedDelete(definitions, "CustomResourceDefinition", crd, uid("crd "+crd),
			strings.ReplaceAll(secrets, `"group":""`, `"group":"../../api/v1/namespaces/`+shop+`/secrets?"`))},
	} {
		text := ""
		r.Eventually(func() string { // on a busy machine Holdfast may not be able to look in time
			text = r.post(confirm, tt.request)
			return text
		}, story.Patience, story.Slower).ShouldNot(gomega.ContainSubstring("in time"), name)
		if strings.Contains(text, "a-password") {
			t.Errorf("%s: a Secret is named: %s", name, text)
		}
		if strings.Contains(text, "configmaps/kept") != tt.knows {
			t.Errorf("%s: %s", name, text)
		}
	}

	// An anchor that is to be deleted has the API server asked whether its namespace may go.
	r.tenant("{top}")
	r.ApplyAs("{nsadmin}", `{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: "{sub}", namespace: "{top}"}}`)
	r.See("ns {sub} -o name", "namespace/{sub}\n")
	r.Apply(strings.ReplaceAll(protectedCM, "{shop}", "{sub}"))
	anchor := func(uid string) string {
		return r.post("/validate-hnc-x-k8s-io-v1alpha2-subnamespaceanchors", `"name":"{sub}","namespace":"{top}","kind":{"group":"hnc.x-k8s.io","version":"v1alpha2","kind":"SubnamespaceAnchor"},`+
			`"resource":{"group":"hnc.x-k8s.io","version":"v1alpha2","resource":"subnamespaceanchors"},"oldObject":{"metadata":{"name":"{sub}","namespace":"{top}","uid":"`+uid+`"}}`)
	}
	r.Eventually(func() string { return anchor(uid("subns {sub} -n {top}")) }, story.Patience, story.Slower).Should(gomega.ContainSubstring("configmaps/kept"))
	r.Expect(anchor("")).NotTo(gomega.ContainSubstring("configmaps/kept"))
}

// Who may unprotect in one namespace asks for an override of an object there, by a name that leads to another object.
func TestM4_anOverrideReachesNoOtherObject(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(ns("{shop}") + protectedCM + ns("{mine}"))
	r.Grant(t, r.Long("{mine}"), r.Long("{una}"), testkit.Rule(v1alpha1.GroupName, []string{v1alpha1.UnprotectResource}, v1alpha1.UnprotectVerb))
	r.Grant(t, "", r.Long("{una}"), testkit.Rule(v1alpha1.GroupName, []string{"deletionoverrides"}, "create", "patch", "get"))
	kept := &corev1.ConfigMap{}
	r.Expect(r.Client.Get(t.Context(), client.ObjectKey{Namespace: r.Long("{shop}"), Name: "kept"}, kept)).To(gomega.Succeed())
	r.ApplyAs("{una}", `{apiVersion: holdfast.dev/v1alpha1, kind: DeletionOverride, metadata: {name: "{o}"}, spec: {requestedBy: "{una}", reason: x, duration: 1h,
  target: {apiVersion: v1, kind: Pod, namespace: "{mine}", name: "../../{shop}/configmaps/kept", uid: "`+string(kept.UID)+`"}}}`)
	r.See("deletionoverride {o} -o jsonpath={.status.phase}", "Invalid")
	r.Expect(r.Run("delete cm kept -n {shop} --dry-run=server").Stderr).To(gomega.ContainSubstring("is protected from deletion"))
}

// free is an address that is free now.

// Names of Roles steer no terminal, forge no line, and put no command into one that is recommended.
func TestL5_namesOfRoles(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	names := map[string]string{
		"x;id #":                 "'x;id #'",
		"esc\x1b[2J\nfake: line": "NAME",
		"it's $(id)":             `'it'\''s $(id)'`,
	}
	admin := r.As(t, r.Long("{nsadmin}"))
	for name := range names {
		role := &rbacv1.Role{}
		role.Namespace, role.Name, role.Labels = r.Long("{shop}"), name, map[string]string{v1alpha1.DeletionProtectedLabel: v1alpha1.ProtectAlways}
		r.Eventually(func() error { return client.IgnoreAlreadyExists(admin.Create(t.Context(), role.DeepCopy())) }, story.Patience, story.Often).Should(gomega.Succeed())
	}
	for name, word := range names {
		role := &rbacv1.Role{}
		role.Namespace, role.Name = r.Long("{shop}"), name
		err := r.Client.Delete(t.Context(), role)
		r.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("kubectl label roles.rbac.authorization.k8s.io/" + word + " -n " + r.Long("{shop}") + " holdfast.dev/deletion-protected-")))
		_, message, _ := strings.Cut(err.Error(), "denied request: ") // what is before it is the API server's
		if strings.ContainsFunc(message, unicode.IsControl) {
			t.Errorf("got %q", message)
		}
	}
	for _, line := range []string{"protected -n {shop}", "protected -n {shop} -o name", "why delete ns {shop} --all"} {
		out := r.holdfast(line)
		if strings.ContainsFunc(out, func(c rune) bool { return c != '\n' && unicode.IsControl(c) }) || strings.Contains(out, "\nfake") {
			t.Errorf("%s: got %q", line, out)
		}
	}
	// What the Namespace says of them.
	r.Eventually(func() string {
		return r.Run("get ns {shop} -o jsonpath={.metadata.annotations.holdfast\\.dev/holds-protected}").Stdout
	}, story.Patience, story.Slower).Should(gomega.Equal(`3 protected objects: roles.rbac.authorization.k8s.io/$'esc\x1b[2J\nfake: line', roles.rbac.authorization.k8s.io/'it'\''s $(id)', roles.rbac.authorization.k8s.io/'x;id #'`))
}

// Who may read a Namespace and nothing in it learns no name of a Secret from its mark, nor who is refused its deletion.
func TestL11_namesOfSecrets(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(ns("{shop}") + `{apiVersion: v1, kind: Secret, metadata: {name: root-password, namespace: "{shop}", labels: {` + protected + `}}}`)
	r.Eventually(func() string {
		return r.Run("get ns {shop} -o jsonpath={.metadata.annotations.holdfast\\.dev/holds-protected}").Stdout
	}, story.Patience, story.Slower).Should(gomega.Equal("1 protected object: secrets/…"))
	said := r.Run("delete ns {shop}").Stderr
	r.Expect(said).To(gomega.ContainSubstring("1 protected object: secrets/…"))
	r.Expect(said).NotTo(gomega.ContainSubstring("root-password"))
}

// A user who may write KafkaConnects and no service accounts gives an account that somebody made by hand an identity in a cloud.
func TestL12_anAccountThatSomebodyMade(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Expect(manager.Apply(t.Context(), r.Cluster, "internal/testkit/strimzi/crds.yaml")).To(gomega.Succeed())
	r.Apply(ns("{shop}") + `{apiVersion: v1, kind: ServiceAccount, metadata: {name: payments-connect, namespace: "{shop}", annotations: {kubernetes.io/enforce-mountable-secrets: "true"}}}`)
	r.Grant(t, r.Long("{shop}"), r.Long("{kcuser}"), testkit.Rule("kafka.strimzi.io", []string{"kafkaconnects"}, "create", "patch", "get"))
	connect := func(name string) string {
		return `{apiVersion: kafka.strimzi.io/v1, kind: KafkaConnect, metadata: {name: ` + name + `, namespace: "{shop}"}, spec: {template: {serviceAccount: {metadata: {annotations: {
  eks.amazonaws.com/role-arn: "arn:mine", kubernetes.io/enforce-mountable-secrets: "false", note: x}}}}}}` + "\n---\n"
	}
	r.ApplyAs("{kcuser}", connect("payments")+connect("own"))
	const annotations = " -n {shop} -o jsonpath={.metadata.annotations}"
	r.See("sa own-connect"+annotations, `{"eks.amazonaws.com/role-arn":"arn:mine","kubernetes.io/enforce-mountable-secrets":"false","note":"x"}`)
	r.See("sa payments-connect"+annotations, `{"kubernetes.io/enforce-mountable-secrets":"true","note":"x"}`)
	r.event("{shop}", "payments", "ServiceAccountConflict")
}

// A user with all rights in the namespace of Holdfast takes the lease of the guard, which would then do nothing more.
func TestL2_theLeasesOfHoldfast(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(strings.ReplaceAll(binding("holdfast-system", "{sysadmin}", "admin", nsadmin, ""), "{nsadmin}", "{sysadmin}"))
	r.Grant(t, "holdfast-system", r.Long("{sysadmin}"), testkit.Rule("coordination.k8s.io", []string{"leases"}, "*"))
	create := func(as, name string) string {
		return r.Run("--as=" + as + " create -n holdfast-system --dry-run=server -f " + r.lease(name)).Stderr
	}
	for _, name := range []string{"holdfast-guard", "holdfast-sync"} {
		r.Expect(create("{sysadmin}", name)).To(gomega.ContainSubstring("a lease of Holdfast"))
	}
	const take = `--as={sysadmin} patch lease holdfast-guard -n holdfast-system --dry-run=server --type=merge -p {"spec":{"holderIdentity":"evil","leaseDurationSeconds":3600}}`
	r.Expect(r.Run(take).Stderr).To(gomega.ContainSubstring("a lease of Holdfast"))
	r.Expect(create("{sysadmin}", "mine")).To(gomega.BeEmpty())
	r.Expect(create("system:serviceaccount:holdfast-system:holdfast-sync", "holdfast-sync")).NotTo(gomega.ContainSubstring("a lease of Holdfast"))
	r.Expect(create("system:serviceaccount:holdfast-system:holdfast-sync", "holdfast-guard")).To(gomega.ContainSubstring("a lease of Holdfast"))
}

func (r *rig) lease(name string) string {
	r.T.Helper()
	file := filepath.Join(r.T.TempDir(), "lease.yaml")
	r.Expect(os.WriteFile(file, []byte("{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: "+name+"}, spec: {holderIdentity: evil}}"), 0o600)).To(gomega.Succeed())
	return file
}

// holdfast runs the plugin, and returns all that it prints.
func (r *rig) holdfast(line string) string {
	r.T.Helper()
	cmd := exec.CommandContext(r.T.Context(), filepath.Join(filepath.SplitList(r.Path(r.T))[0], "kubectl-holdfast"), strings.Fields(r.Long(line))...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.Kubeconfig)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.T.Fatalf("%s: %v", line, err)
	}
	return string(out)
}
