// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// What the API server and controllers fill in is no drift, and stays when the object is
// written for another reason.
func TestFields_thatAreGenerated(t *testing.T) {
	t.Parallel()
	t.Run("the addresses and ports of a Service", func(t *testing.T) {
		t.Parallel()
		r := shared(t)
		service := func(color string) string {
			return "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: \"{n}\", labels: {color: " + color + "}}\n" +
				"spec: {type: NodePort, selector: {app: s}, ports: [{name: http, port: 80}]}\n---\n"
		}
		r.syncOf("a", ns("n")+service("red"))
		get := func() *corev1.Service {
			s := &corev1.Service{}
			r.Expect(r.Client.Get(t.Context(), client.ObjectKey{Namespace: r.name("n"), Name: "s"}, s)).To(gomega.Succeed())
			return s
		}
		before := get()
		r.Expect(before.Spec.ClusterIP).NotTo(gomega.BeEmpty())
		r.Expect(before.Spec.Ports[0].NodePort).NotTo(gomega.BeZero())
		r.synced("a", r.commit("a", "x.yaml", ns("n")+service("blue")))
		after := get()
		r.Expect(after.Labels).To(gomega.HaveKeyWithValue("color", "blue"))
		r.Expect(after.Spec).To(gomega.Equal(before.Spec))
		r.Expect(after.UID).To(gomega.Equal(before.UID))
	})
	t.Run("the rules of a ClusterRole that others are gathered in", func(t *testing.T) {
		t.Parallel()
		r := shared(t)
		text := func(color string) string {
			return fmt.Sprintf(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "{all}", labels: {color: %s}}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {gather: "{all}"}}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "{part}", labels: {gather: "{all}"}}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
`, color)
		}
		get := func() *rbacv1.ClusterRole {
			role := &rbacv1.ClusterRole{}
			r.Expect(r.Client.Get(t.Context(), client.ObjectKey{Name: r.name("all")}, role)).To(gomega.Succeed())
			return role
		}
		r.syncOf("a", ns("n")+text("red"))
		r.Eventually(func() int { return len(get().Rules) }, within, often).Should(gomega.Equal(1))
		version := get().ResourceVersion
		// What comes after it in the same pass shows that it was looked at and left.
		r.synced("a", r.commit("a", "x.yaml", ns("n")+text("red")+cm("n", "one", "1")))
		r.Expect(get().ResourceVersion).To(gomega.Equal(version))
		r.synced("a", r.commit("a", "x.yaml", ns("n")+text("blue")))
		r.Expect(get().Labels).To(gomega.HaveKeyWithValue("color", "blue"))
		r.Expect(get().Rules).To(gomega.HaveLen(1))
	})
}

// Labels and annotations are added, changed and taken away as in the source, beside those
// that others have set, kubectl's record of what it has applied among them.
func TestFields_labelsAndAnnotations(t *testing.T) {
	t.Parallel()
	r := shared(t)
	const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	text := func(labels, annotations string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: \"{n}\", labels: {" + labels + "}, annotations: {" + annotations + "}}\ndata: {v: '1'}\n---\n"
	}
	r.Apply(t, "", r.long(ns("n")))
	if out := r.KubectlInput(t, r.long(cm("n", "one", "0")), "apply", "-f", "-"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	recorded := r.object("cm", "n/one").GetAnnotations()[lastApplied]
	r.Expect(recorded).NotTo(gomega.BeEmpty())
	seen := func() string {
		o := r.object("cm", "n/one")
		var out []string
		for _, all := range []map[string]string{o.GetLabels(), o.GetAnnotations()} {
			for key, value := range all {
				if strings.HasPrefix(key, "x-") {
					out = append(out, key+"="+value)
				}
			}
		}
		slices.Sort(out)
		r.Expect(o.GetAnnotations()).To(gomega.HaveKeyWithValue(lastApplied, recorded))
		return strings.Join(out, " ")
	}
	r.syncOf("a", text("x-l: one", "x-a: one"))
	r.Expect(seen()).To(gomega.Equal("x-a=one x-l=one"))
	r.patch("cm", "n/one", `{"metadata":{"labels":{"x-mine":"1"},"annotations":{"x-mine":"1"}}}`)
	for _, step := range []struct{ labels, annotations, want string }{
		{"x-l: two, x-m: new", "x-a: two, x-b: new", "x-a=two x-b=new x-l=two x-m=new x-mine=1 x-mine=1"},
		{"x-m: new", "x-b: new", "x-b=new x-m=new x-mine=1 x-mine=1"},
		{"", "", "x-mine=1 x-mine=1"},
	} {
		r.synced("a", r.commit("a", "x.yaml", text(step.labels, step.annotations)))
		r.Expect(seen()).To(gomega.Equal(step.want))
	}
}

// Drift shows by who owns fields, and since when. It is put back where that alone would not tell.
func TestFields_driftThatOwnersDoNotShow(t *testing.T) {
	t.Parallel()
	r := shared(t)
	secret := func(data string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: \"{n}\"}\nstringData: {" + data + "}\n---\n"
	}
	r.syncOf("a", ns("n")+secret("a: one, b: two")+cm("n", "one", "1"))
	data := func() string {
		s := &corev1.Secret{}
		r.Expect(r.Client.Get(t.Context(), client.ObjectKey{Namespace: r.name("n"), Name: "s"}, s)).To(gomega.Succeed())
		return fmt.Sprintf("%s", s.Data)
	}
	for _, change := range []string{`{"stringData":{"a":"other"}}`, `{"data":{"b":null}}`} {
		r.patch("secret", "n/s", change)
		r.Eventually(data, within, often).Should(gomega.Equal("map[a:one b:two]"))
	}
	r.synced("a", r.commit("a", "x.yaml", ns("n")+secret("a: one")+cm("n", "one", "1")))
	r.Expect(data()).To(gomega.Equal("map[a:one]"))

	// Not within the second of the last write: the API server notes no less.
	o := r.object("cm", "n/one")
	applied := o.GetManagedFields()[0].Time.Time
	r.Eventually(func() time.Duration { return time.Since(applied) }, within, often).Should(gomega.BeNumerically(">", 2*time.Second))
	o.SetManagedFields(nil)
	o.SetResourceVersion("")
	r.Expect(unstructured.SetNestedField(o.Object, "other", "data", "v")).To(gomega.Succeed())
	r.Expect(r.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(object.FieldManager), client.ForceOwnership)).To(gomega.Succeed())
	r.value("n/one", "1")
}
