// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
)

// who made a request.
func who(e auditv1.Event) string {
	if e.ImpersonatedUser != nil {
		return e.ImpersonatedUser.Username
	}
	return e.User.Username
}

// deletions are the requests to delete an object that the log tells of, in their
// order.
func deletions(t testing.TB, log *auditlog.Log, ns, name string) (out []auditv1.Event) {
	t.Helper()
	events, err := log.Events()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
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
	log, options, err := auditlog.New(t.TempDir(), auditv1.PolicyRule{Level: auditv1.LevelMetadata, Verbs: []string{"delete"}})
	if err != nil {
		t.Fatal(err)
	}
	e := testkit.New(t, testkit.Options{Cluster: options})
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	for _, name := range []string{"one", "two", "none"} {
		configMap(t, e, ns, name)
	}
	for name, objects := range map[string]string{"a": "[one, two]", "b": "[two]"} {
		protect(t, e, name, `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: `+ns+`}], resourceNames: `+objects+`}]}`)
	}
	g.Eventually(protectedBy(t, e, "configmap", "one", "-n", ns), "180s", "50ms").Should(gomega.Equal("a"))
	g.Eventually(protectedBy(t, e, "configmap", "two", "-n", ns), "180s", "50ms").Should(gomega.Equal("2" + v1alpha1.SeveralProtections))

	everything(t, e, "robot")
	mayBypass(t, e, "robot", "a")

	type line struct {
		User  string
		Code  int32
		Value string
	}
	const admin = "holdfast-local-admin"
	for _, tt := range []struct {
		name, object string
		as           []string
		want         line
	}{
		{name: "a refusal names the protection", object: "one", want: line{admin, 403, "a"}},
		{name: "of several it names all", object: "two", want: line{admin, 403, "2" + v1alpha1.SeveralProtections + ": a, b"}},
		{name: "a bypass names the protection too", object: "one", as: []string{"--as=robot"}, want: line{"robot", 200, "a"}},
		{name: "what nothing protects has none", object: "none", want: line{admin, 200, ""}},
	} {
		before := len(deletions(t, log, ns, tt.object))
		e.Kubectl(t, append([]string{"delete", "configmap", tt.object, "-n", ns, "--wait=false"}, tt.as...)...)
		var events []auditv1.Event
		g.Eventually(func() int {
			events = deletions(t, log, ns, tt.object)
			return len(events)
		}, "180s", "50ms").Should(gomega.Equal(before+1), tt.name)
		last := events[before]
		got := line{who(last), last.ResponseStatus.Code, last.Annotations["holdfast-deletion-protection/protection"]}
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s\nall annotations: %v", tt.name, diff, last.Annotations)
		}
	}
}
