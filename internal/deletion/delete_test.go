// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const (
	strict  = v1alpha1.DeletionProtectedLabel
	karmada = v1alpha1.KarmadaDeletionProtectedLabel
	kruise  = v1alpha1.KruiseDeletionProtectionLabel
)

// configMap makes a ConfigMap with the labels written "key=value".
func configMap(t testing.TB, e *testkit.Env, ns, name string, labels ...string) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{}}}
	for _, l := range labels {
		k, v, _ := strings.Cut(l, "=")
		cm.Labels[k] = v
	}
	if err := e.Client.Create(t.Context(), cm); err != nil {
		t.Fatalf("create ConfigMap %s: %v", name, err)
	}
	return cm
}

// mustStand fails the test if the object is not there, whole.
func mustStand(t testing.TB, e *testkit.Env, o client.Object) {
	t.Helper()
	if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Errorf("the object is gone: %v", err)
	} else if o.GetDeletionTimestamp() != nil {
		t.Errorf("the object is on its way out since %s", o.GetDeletionTimestamp())
	}
}

// mustGo waits until the object is gone.
func mustGo(t testing.TB, e *testkit.Env, o client.Object) {
	t.Helper()
	// Patient, because the namespace controller is: after each try that fails, be it because a kind went
	// meanwhile, it waits longer, up to a minute.
	gomega.NewWithT(t).Eventually(func() string {
		o := o.DeepCopyObject().(client.Object)
		err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) {
			return ""
		}
		return fmt.Sprintf("%s stays: %v %+v", o.GetName(), err, o)
	}, "180s", "50ms").Should(gomega.BeEmpty())
}

func TestDelete_everyLabelRefuses(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	tests := []struct{ name, label, want string }{
		{name: "strict", label: strict + "=Always", want: "configmaps/strict is protected from deletion by the label holdfast.dev/deletion-protected. " +
			"Whoever holds the right to unprotect it can run: kubectl label configmaps/strict -n " + ns + " holdfast.dev/deletion-protected-"},
		{name: "karmada", label: karmada + "=Always", want: "This resource is protected, please make sure to remove the label: resourcetemplate.karmada.io/deletion-protected"},
		{name: "kruise", label: kruise + "=Always", want: "configmaps/kruise is protected from deletion by the label policy.kruise.io/delete-protection. " +
			"Take the label away first: kubectl label configmaps/kruise -n " + ns + " policy.kruise.io/delete-protection-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cm := configMap(t, e, ns, tt.name, tt.label)
			err := e.Client.Delete(t.Context(), cm)
			if !apierrors.IsForbidden(err) {
				t.Fatalf("got %v, want a 403", err)
			}
			if !strings.HasSuffix(err.Error(), "denied request: "+tt.want) {
				t.Errorf("got the message\n%s\nwant it to end with\n%s", err, tt.want)
			}
			mustStand(t, e, cm)
		})
	}
}

func TestDelete_emptyValueDoesNotProtect(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	for _, label := range []string{strict, karmada, kruise} {
		cm := configMap(t, e, ns, "empty-"+strings.ReplaceAll(label, "/", "-"), label+"=")
		if err := e.Client.Delete(t.Context(), cm); err != nil {
			t.Errorf("%s is empty, and the delete was refused: %v", label, err)
		}
	}
}

// Every way in which a delete can come to the API server.
func TestDelete_everyWayIsRefused(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	const manifest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, labels: {holdfast.dev/deletion-protected: Always}}, data: {a: b}}`
	tests := []struct {
		name  string
		args  []string
		stdin string
	}{
		{name: "by name", args: []string{"delete", "configmap", "kept"}},
		{name: "by name, forced, without grace", args: []string{"delete", "configmap", "kept", "--force", "--grace-period=0"}},
		{name: "now", args: []string{"delete", "configmap", "kept", "--now"}},
		{name: "in the background", args: []string{"delete", "configmap", "kept", "--cascade=background"}},
		{name: "in the foreground", args: []string{"delete", "configmap", "kept", "--cascade=foreground"}},
		{name: "leaving orphans", args: []string{"delete", "configmap", "kept", "--cascade=orphan"}},
		{name: "all", args: []string{"delete", "configmap", "--all"}},
		{name: "by selector", args: []string{"delete", "configmap", "-l", strict}},
		{name: "by file", args: []string{"delete", "-f", "-"}, stdin: manifest},
		{name: "as a dry run", args: []string{"delete", "configmap", "kept", "--dry-run=server"}},
		{name: "replaced by force", args: []string{"replace", "--force", "-f", "-"}, stdin: manifest},
		{name: "pruned", args: []string{"apply", "-f", "-", "--prune", "-l", "app=web", "--prune-allowlist=core/v1/ConfigMap"},
			stdin: `{apiVersion: v1, kind: ConfigMap, metadata: {name: other, labels: {app: web}}}`},
		{name: "by raw collection", args: []string{"delete", "--raw", "/api/v1/namespaces/NAMESPACE/configmaps"}},
		{name: "by raw collection and selector", args: []string{"delete", "--raw", "/api/v1/namespaces/NAMESPACE/configmaps?labelSelector=app%3Dweb"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ns := e.Namespace(t)
			// Made by kubectl apply, because --prune passes over all else.
			if out := e.KubectlInput(t, strings.Replace(manifest, "labels: {", "labels: {app: web, ", 1), "apply", "-n", ns, "-f", "-"); out.Code != 0 {
				t.Fatalf("apply: %s", out.Stderr)
			}
			kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "kept"}}
			mustStand(t, e, kept)
			uid := kept.UID

			args := append([]string{"-n", ns}, tt.args...)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "NAMESPACE", ns)
			}
			out := e.KubectlInput(t, tt.stdin, args...)
			if out.Code == 0 {
				t.Errorf("kubectl succeeded: %s", out.Stdout)
			}
			if want := "configmaps/kept is protected from deletion"; !strings.Contains(out.Stderr, want) {
				t.Errorf("kubectl said\n%s\nwant it to say %q", out.Stderr, want)
			}
			mustStand(t, e, kept)
			if kept.UID != uid {
				t.Error("the object is another one now")
			}
		})
	}
}

func TestDelete_protectsEveryKindOfObject(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	group := ns + ".example.com"
	crd := fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%[1]s, labels: {holdfast.dev/deletion-protected: Always}}
spec:
  group: %[1]s
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, group)
	e.Apply(t, ns, crd)
	if out := e.Kubectl(t, "wait", "--for=condition=Established", "crd/widgets."+group, "--timeout=30s"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	tests := []struct{ name, yaml, target string }{
		{"a Namespace", `{apiVersion: v1, kind: Namespace, metadata: {name: ` + ns + `, labels: {holdfast.dev/deletion-protected: Always}}}`, "namespace/" + ns},
		{"a CustomResourceDefinition", crd, "crd/widgets." + group},
		{"a custom resource of a kind made after the policies", fmt.Sprintf(`{apiVersion: %s/v1, kind: Widget, metadata: {name: w, labels: {holdfast.dev/deletion-protected: Always}}}`, group), "widget." + group + "/w"},
		{"a Pod", `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {holdfast.dev/deletion-protected: Always}}, spec: {containers: [{name: c, image: i}]}}`, "pod/p"},
		{"a Service", `{apiVersion: v1, kind: Service, metadata: {name: s, labels: {holdfast.dev/deletion-protected: Always}}, spec: {ports: [{port: 80}]}}`, "service/s"},
		{"a Secret", `{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {holdfast.dev/deletion-protected: Always}}}`, "secret/s"},
		{"a PersistentVolumeClaim", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, labels: {holdfast.dev/deletion-protected: Always}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`, "pvc/c"},
		{"a ClusterRole", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: ` + ns + `, labels: {holdfast.dev/deletion-protected: Always}}}`, "clusterrole/" + ns},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e.Apply(t, ns, tt.yaml)
			// The Namespace and the definition hold the others too, and either reason may
			// come first.
			if out := e.Kubectl(t, "delete", "-n", ns, "--wait=false", tt.target); out.Code == 0 || !strings.Contains(out.Stderr, "ValidatingAdmissionPolicy 'holdfast-deletion-") {
				t.Errorf("kubectl delete ended with %d: %s%s", out.Code, out.Stdout, out.Stderr)
			}
		})
	}
}

func TestDelete_collectionStopsAtTheProtectedObject(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	kept := configMap(t, e, ns, "kept", strict+"=Always")
	configMap(t, e, ns, "loose")
	err := e.Client.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(ns))
	if !apierrors.IsForbidden(err) {
		t.Fatalf("got %v, want a 403", err)
	}
	if want := "configmaps/kept is protected"; !strings.Contains(err.Error(), want) {
		t.Errorf("the refusal does not name the object, which the request does not either: %v", err)
	}
	mustStand(t, e, kept)
}

func TestDelete_terminatingObjectIsLetGo(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	cm := configMap(t, e, ns, "going")
	cm.Finalizers = []string{"example.com/hold"}
	if err := e.Client.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	if err := e.Client.Delete(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"`+strict+`":"Always"}}}`))
	if err := e.Client.Patch(t.Context(), cm, patch); err != nil {
		t.Fatalf("label a terminating object: %v", err)
	}
	if err := e.Client.Delete(t.Context(), cm); err != nil {
		t.Errorf("a second delete was refused: %v", err)
	}
	patch = client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := e.Client.Patch(t.Context(), cm, patch); err != nil {
		t.Errorf("the last finalizer could not go: %v", err)
	}
	if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(cm), cm); !apierrors.IsNotFound(err) {
		t.Errorf("the object is still there: %v", err)
	}
}

// The seed's first story, with nothing but kubectl.
func TestDelete_seedStoryProtectTheNamespace(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	for _, step := range []struct {
		args []string
		fail string
	}{
		{args: []string{"label", "namespace", ns, karmada + "=Always"}},
		{args: []string{"delete", "namespace", ns, "--wait=false"}, fail: "please make sure to remove the label"},
		{args: []string{"label", "namespace", ns, karmada + "-"}},
		{args: []string{"delete", "namespace", ns}},
	} {
		out := e.Kubectl(t, step.args...)
		if step.fail == "" && out.Code != 0 || !strings.Contains(out.Stderr, step.fail) || step.fail != "" && out.Code == 0 {
			t.Fatalf("kubectl %s ended with %d: %s%s", strings.Join(step.args, " "), out.Code, out.Stdout, out.Stderr)
		}
	}
}
