// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

// auditEvent is what the tests read of a line of the API server's audit log.
type auditEvent struct {
	Verb           string
	User           struct{ Username string }
	Impersonated   struct{ Username string } `json:"impersonatedUser"`
	ObjectRef      struct{ Name, Namespace string }
	ResponseStatus struct{ Code int }
	Annotations    map[string]string
}

func (e auditEvent) who() string { return cmp.Or(e.Impersonated.Username, e.User.Username) }

// deletions are the requests to delete an object that the log tells of, in their
// order.
func deletions(t testing.TB, log, ns, name string) (out []auditEvent) {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e auditEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			continue // it is being written
		}
		if e.Verb == "delete" && e.ObjectRef.Namespace == ns && e.ObjectRef.Name == name {
			out = append(out, e)
		}
	}
	return out
}

// All protections have one policy, so that the API server's metrics cannot tell
// them apart. Its audit log does.
func TestProtection_theAuditLogTellsWhichOneRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rules, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(rules, []byte(`{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata", "verbs": ["delete"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	e := testkit.New(t, testkit.Options{Cluster: cluster.Options{APIServerArgs: []string{"--audit-policy-file=" + rules, "--audit-log-path=" + log}}})
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	for _, name := range []string{"one", "two", "none"} {
		configMap(t, e, ns, name)
	}
	for name, objects := range map[string]string{"a": "[one, two]", "b": "[two]"} {
		protect(t, e, name, `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: `+ns+`}], resourceNames: `+objects+`}]}`)
	}
	g.Eventually(protectedBy(t, e, "configmap", "one", "-n", ns), "20s", "50ms").Should(gomega.Equal("a"))
	g.Eventually(protectedBy(t, e, "configmap", "two", "-n", ns), "20s", "50ms").Should(gomega.Equal("2" + v1alpha1.SeveralProtections))

	everything(t, e, "robot")
	mayBypass(t, e, "robot", "a")

	type line struct {
		User  string
		Code  int
		Value string
	}
	const admin = "holdfast-local-admin"
	for _, tt := range []struct {
		name, object string
		as           []string
		want         line
	}{
		{name: "a refusal names the protection", object: "one", want: line{admin, 403, "a"}},
		{name: "of several it says how many", object: "two", want: line{admin, 403, "2" + v1alpha1.SeveralProtections}},
		{name: "a bypass names the protection too", object: "one", as: []string{"--as=robot"}, want: line{"robot", 200, "a"}},
		{name: "what nothing protects has none", object: "none", want: line{admin, 200, ""}},
	} {
		before := len(deletions(t, log, ns, tt.object))
		e.Kubectl(t, append([]string{"delete", "configmap", tt.object, "-n", ns, "--wait=false"}, tt.as...)...)
		var events []auditEvent
		g.Eventually(func() int {
			events = deletions(t, log, ns, tt.object)
			return len(events)
		}, "10s", "50ms").Should(gomega.Equal(before+1), tt.name)
		last := events[before]
		got := line{last.who(), last.ResponseStatus.Code, last.Annotations["holdfast-deletion-protection/protection"]}
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s\nall annotations: %v", tt.name, diff, last.Annotations)
		}
	}
}
