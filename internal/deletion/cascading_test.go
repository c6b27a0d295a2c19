// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// cascadingLabels are those that know the value Cascading.
var cascadingLabels = map[string]string{"strict": strict, "kruise": kruise}

func TestCascading_refusesWhatShowsItsUse(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	const (
		template = `selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`
		address  = `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`
		none     = `{"status":{"loadBalancer":null}}`
	)
	scale := func(replicas string) []string { return []string{"scale", "--replicas=" + replicas} }
	status := func(patch string) []string {
		return []string{"patch", "--subresource=status", "--type=merge", "-p", patch}
	}
	tests := []struct {
		name, yaml, object string
		free, use          []string
	}{
		{
			name: "a Deployment", object: "deployments.apps/x", free: scale("0"), use: scale("1"),
			yaml: `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, labels: LABELS}, spec: {replicas: 0, ` + template,
		},
		{
			name: "a StatefulSet", object: "statefulsets.apps/x", free: scale("0"), use: scale("2"),
			yaml: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x, labels: LABELS}, spec: {replicas: 0, ` + template,
		},
		{
			name: "a ReplicaSet", object: "replicasets.apps/x", free: scale("0"), use: scale("1"),
			yaml: `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: x, labels: LABELS}, spec: {replicas: 0, ` + template,
		},
		{
			name: "an Ingress", object: "ingresses.networking.k8s.io/x", free: status(none), use: status(address),
			yaml: `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: x, labels: LABELS}, spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}}`,
		},
		{
			name: "a Service", object: "services/x", free: status(none), use: status(address),
			yaml: `{apiVersion: v1, kind: Service, metadata: {name: x, labels: LABELS}, spec: {type: LoadBalancer, ports: [{port: 80}]}}`,
		},
	}
	for _, tt := range tests {
		for name, key := range cascadingLabels {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				t.Parallel()
				g := gomega.NewWithT(t)
				ns := e.Namespace(t)
				on := func(args []string) []string { return append([]string{args[0], tt.object, "-n", ns}, args[1:]...) }
				e.Apply(t, ns, strings.Replace(tt.yaml, "LABELS", "{"+key+": Cascading}", 1))
				dryRun := []string{"delete", "--dry-run=server"}

				done(t, e, on(dryRun)...)
				done(t, e, on(tt.use)...)
				want := tt.object + " is protected from deletion while it is in use by the label " + key + ". "
				g.Expect(refused(t, e, on([]string{"delete"})...)).To(gomega.ContainSubstring(want))
				done(t, e, on(tt.free)...)
				done(t, e, on([]string{"delete"})...)
			})
		}
	}
}

func TestCascading_aWorkloadThatDoesNotSayWantsOneReplica(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, labels: {holdfast.dev/deletion-protected: Cascading}}, spec: {
		selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`)
	refused(t, e, "delete", "deployment", "x", "-n", ns)
}

func TestCascading_ofANamespace(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	for name, key := range cascadingLabels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gomega.NewWithT(t)
			ns := e.Namespace(t)
			done(t, e, "label", "namespace", ns, key+"=Cascading")
			dryRun := []string{"delete", "namespace", ns, "--dry-run=server"}
			used := func(by string) {
				t.Helper()
				g.Expect(refused(t, e, "delete", "namespace", ns)).To(gomega.ContainSubstring(
					"namespaces/" + ns + " is not deleted while it is in use: " + by + ". The label " + key + " protects it until then"))
			}
			configMap(t, e, ns, "no-use")
			done(t, e, dryRun...)

			e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`)
			used("pods/p is active")
			for _, phase := range []string{"Running", "Succeeded", "Failed"} {
				done(t, e, "patch", "pod", "p", "-n", ns, "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"`+phase+`"}}`)
				if phase == "Running" {
					used("pods/p is active")
				} else {
					done(t, e, dryRun...)
				}
			}

			e.Apply(t, ns, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {storageClassName: "", volumeName: `+ns+`, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
			done(t, e, dryRun...)
			defer takeAway(t, e, "pv", ns)
			e.Apply(t, "", `{apiVersion: v1, kind: PersistentVolume, metadata: {name: `+ns+`}, spec: {storageClassName: "", capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /none}, claimRef: {namespace: `+ns+`, name: c}}}`)
			g.Eventually(read(t, e, "{.status.phase}", "pvc", "c", "-n", ns), "180s", "100ms").Should(gomega.Equal("Bound"))
			used("persistentvolumeclaims/c is bound")
			done(t, e, "delete", "pvc", "c", "-n", ns)
			done(t, e, "delete", "namespace", ns, "--wait=false")
			mustGo(t, e, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
		})
	}
}

func TestCascading_ofACustomResourceDefinition(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	for name, key := range cascadingLabels {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gomega.NewWithT(t)
			ns := e.Namespace(t)
			group := ns + ".example.com"
			crd := "widgets." + group
			defer takeAway(t, e, "crd", crd)
			applyWidgets(t, e, group)
			done(t, e, "label", "crd", crd, key+"=Cascading")
			done(t, e, "delete", "crd", crd, "--dry-run=server")

			e.Apply(t, ns, `{apiVersion: `+group+`/v1, kind: Widget, metadata: {name: w}}`)
			// Holdfast knows a new kind a moment after the API server does.
			g.Eventually(func() string { return e.Kubectl(t, "delete", "crd", crd, "--dry-run=server").Stderr }, "180s", "100ms").Should(gomega.ContainSubstring(
				"customresourcedefinitions.apiextensions.k8s.io/" + crd + " is not deleted while it is in use: widgets." + group + "/w is there. The label " + key + " protects it until then"))
			refused(t, e, "delete", "crd", crd)
			done(t, e, "delete", crd, "w", "-n", ns)
			done(t, e, "delete", "crd", crd)
		})
	}
}

// Marks go by metadata, and what is not in use can be a moment later.
func TestCascading_countsForWhatIsAboveInUseOrNot(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	e.Apply(t, ns, deployment("web", "0"))
	done(t, e, "label", "deployment", "web", "-n", ns, kruise+"=Cascading")
	g.Expect(refused(t, e, "delete", "namespace", ns)).To(gomega.ContainSubstring("1 protected object: deployments.apps/web"))
	done(t, e, "delete", "deployment", "web", "-n", ns)
	g.Eventually(func() int { return e.Kubectl(t, "delete", "namespace", ns, "--wait=false").Code }, "180s", "100ms").Should(gomega.BeZero())
}

func TestCascading_byAProtection(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	end := protect(t, e, ns, `{mode: Cascading, message: ask us, protectedResources: [{resourceSelector: [{apiVersion: v1, kind: Namespace, name: `+ns+`}]}]}`)
	defer end()
	g.Eventually(statusOf(t, e, ns, readyOf), "180s", "50ms").Should(gomega.Equal("True Protected"))
	done(t, e, "delete", "namespace", ns, "--dry-run=server")
	e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`)
	g.Expect(refused(t, e, "delete", "namespace", ns)).To(gomega.ContainSubstring(
		"namespaces/" + ns + " is not deleted while it is in use: pods/p is active. ResourceDeletionProtection " + ns + " (ask us) protects it until then"))
	done(t, e, "delete", "pod", "p", "-n", ns, "--grace-period=0", "--force")
	done(t, e, "delete", "namespace", ns, "--wait=false")
}

func TestCascading_whereItMeansNothing(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	const can = "Cascading on what can be in use (a Namespace, CustomResourceDefinition, Service, Ingress or workload with replicas)"
	for _, tt := range []struct {
		label   string
		refused bool
		want    string
	}{
		{label: strict, refused: true, want: "the label " + strict + " may be Always or " + can + ", or empty to protect nothing"},
		{label: karmada, refused: true, want: "the label " + karmada + " may be Always, or empty to protect nothing"},
		{label: kruise, want: "the label " + kruise + " has a value that Holdfast does not act on and does not protect this object; it may be Always or " + can + ", or empty to protect nothing"},
	} {
		out := e.KubectlInput(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {`+tt.label+`: Cascading}}}`, "create", "-n", ns, "-f", "-")
		if (out.Code != 0) != tt.refused || !strings.Contains(out.Stderr, tt.want) {
			t.Errorf("kubectl create ended with %d: %s, want it refused: %t, with %q", out.Code, out.Stderr, tt.refused, tt.want)
		}
	}
	done(t, e, "delete", "configmap", "x", "-n", ns)
}
