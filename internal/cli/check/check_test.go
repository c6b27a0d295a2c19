// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/namespaces"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// brief are findings, a line each.
func brief(all []Finding) string {
	var out []string
	for _, f := range all {
		out = append(out, string(f.Level)+": "+f.Message)
	}
	return strings.Join(out, "\n")
}

func TestKubernetesVersion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, version string
		lacks         bool
		want          string
	}{
		{name: "one that is tested", version: "v1.37.0", want: "OK: Kubernetes v1.37.0"},
		{name: "a vendor's", version: "v1.36.4-gke.100+abc", want: "OK: Kubernetes v1.36.4-gke.100+abc"},
		{name: "one that works and is not tested", version: "v1.31.2", want: "Warning: Kubernetes v1.31.2 is not one that Holdfast is tested on: those are 1.36 to 1.37"},
		{name: "one that is to come", version: "v1.40.0", want: "Warning: Kubernetes v1.40.0 is not one that Holdfast is tested on: those are 1.36 to 1.37"},
		{name: "one that is too old", version: "v1.29.9", want: "Problem: Kubernetes v1.29.9 has no ValidatingAdmissionPolicies, on which Holdfast stands"},
		{name: "one that has turned off what is needed", version: "v1.37.0", lacks: true, want: "Problem: Kubernetes v1.37.0 has no ValidatingAdmissionPolicies, on which Holdfast stands"},
		{name: "none", version: "new", want: `Warning: the API server says that it is "new", which is no version`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, brief(kubernetesVersion(&facts{version: tt.version, policies: !tt.lacks}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInstallation(t *testing.T) {
	t.Parallel()
	needed := []string{"holdfasts.holdfast.dev", "deletionoverrides.holdfast.dev"}
	established := map[string]bool{needed[0]: true, needed[1]: true}
	says := func(conditions ...metav1.Condition) *v1alpha1.Holdfast {
		return &v1alpha1.Holdfast{Status: v1alpha1.HoldfastStatus{Version: "1", Conditions: conditions}}
	}
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}
	notReady := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "R", Message: "m"}
	pods := func(have int32) []appsv1.Deployment {
		d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "guard", Labels: map[string]string{"app.kubernetes.io/name": "holdfast"}}}
		d.Spec.Replicas, d.Status.ReadyReplicas = new(int32(2)), have
		return []appsv1.Deployment{d, {ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "another"}}}
	}
	for _, tt := range []struct {
		name string
		f    facts
		want string
	}{
		{name: "not there", f: facts{mayInstall: true}, want: "Note: Holdfast is not installed"},
		{name: "not there, for somebody without rights", want: "Note: Holdfast is not installed\nWarning: you may not install it: whoever does needs every right that Holdfast has"},
		{name: "well", f: facts{holdfast: says(ready), anchor: true, established: established, deployments: pods(2)}, want: "OK: Holdfast is ready"},
		{name: "of another version than the plugin", f: facts{holdfast: &v1alpha1.Holdfast{Status: v1alpha1.HoldfastStatus{Version: "2", Conditions: []metav1.Condition{ready}}}, anchor: true}, want: "Note: Holdfast is 2, and this plugin 1\nOK: Holdfast is ready"},
		{name: "it says what is wrong", f: facts{holdfast: says(notReady, metav1.Condition{Type: "CertificateValid", Status: "False", Reason: "Expired", Message: "it has expired"}), anchor: true}, want: "Problem: CertificateValid is False: Expired: it has expired"},
		{name: "it does not say what is wrong", f: facts{holdfast: says(notReady), anchor: true}, want: "Problem: Holdfast is not ready: m"},
		{name: "it says nothing of itself", f: facts{holdfast: says(), anchor: true}, want: "Problem: Holdfast does not say whether it is ready"},
		{name: "its manager has never run", f: facts{anchor: true}, want: "Problem: Holdfast is installed, and has never said how it is"},
		{name: "kinds are missing", f: facts{holdfast: says(ready), anchor: true, established: map[string]bool{needed[0]: true}}, want: "Problem: CustomResourceDefinitions are missing: deletionoverrides.holdfast.dev\nOK: Holdfast is ready"},
		{name: "its anchor can be deleted in one step", f: facts{holdfast: says(ready), anchor: true, stops: true}, want: "Note: the ClusterRole holdfast-anchor has the annotation holdfast.dev/stop, so deleting it, even by accident, stops Holdfast\nOK: Holdfast is ready"},
		{name: "one of two pods is there", f: facts{holdfast: says(ready), anchor: true, deployments: pods(1)}, want: "OK: Holdfast is ready\nWarning: of Deployment guard 1 of 2 pods are ready"},
		{name: "no replica leads", f: facts{holdfast: says(ready), anchor: true, silent: "no replica leads"}, want: "Problem: no replica leads"},
		{name: "no replica leads, and something was wrong before", f: facts{holdfast: says(notReady), anchor: true, silent: "no replica leads"}, want: "Problem: no replica leads\nProblem: Holdfast is not ready: m"},
		{name: "no pod is there that could say so", f: facts{holdfast: says(ready), anchor: true, deployments: pods(0)}, want: "OK: Holdfast is ready\nProblem: of Deployment guard 0 of 2 pods are ready"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.f.namespace, tt.f.needed = "ns", needed
			if diff := cmp.Diff(tt.want, brief(installation(&tt.f, "1"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHome(t *testing.T) {
	t.Parallel()
	const text = ": the namespace config-management-system is below shop in a tree of namespaces, so that whoever administers shop could act as any RootSync: nothing is synced until it is in no tree"
	away := &namespaces.InTreeError{Above: "shop"}
	for _, tt := range []struct {
		name string
		f    facts
		want string
	}{
		{"in no tree", facts{}, ""},
		{"below another", facts{home: away}, "Warning" + text},
		{"below another, and Holdfast is there", facts{home: away, holdfast: &v1alpha1.Holdfast{}}, "Problem" + text},
	} {
		if diff := cmp.Diff(tt.want, brief(home(&tt.f))); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name string
		left time.Duration
		want string
	}{
		{"it lasts", 90 * 24 * time.Hour, "OK: the serving certificate lasts until 2026-08-02"},
		{"it ought to have been replaced", 5 * 24 * time.Hour, "Warning: the serving certificate lasts for 5d only"},
		{"it has ended", -time.Hour, "Problem: the serving certificate has expired on 2026-05-03"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := &facts{leaf: &x509.Certificate{NotAfter: now.Add(tt.left)}, validating: []admissionregistrationv1.ValidatingWebhookConfiguration{{ObjectMeta: metav1.ObjectMeta{Name: "holdfast-guard"}}}}
			if diff := cmp.Diff(tt.want, brief(certificates(f, "tls", now))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	type list = []string
	for _, tt := range []struct {
		name                          string
		operations, groups, resources list
		want                          string
	}{
		{"everything", list{"*"}, list{"*"}, list{"*/*"}, "deletes of any resource and evictions"},
		{"deletes of everything", list{"DELETE"}, list{"*"}, list{"*"}, "deletes of any resource"},
		{"deletes of namespaces", list{"CREATE", "DELETE"}, list{""}, list{"namespaces"}, "deletes of namespaces"},
		{"deletes of kinds", list{"DELETE"}, list{"apiextensions.k8s.io"}, list{"customresourcedefinitions"}, "deletes of CustomResourceDefinitions"},
		{"evictions", list{"CREATE"}, list{""}, list{"pods/eviction"}, "evictions"},
		{"all below pods", list{"CREATE"}, list{""}, list{"pods/*"}, "evictions"},
		{"pods and nothing below them", list{"CREATE"}, list{""}, list{"pods", "*"}, ""},
		{"changes of namespaces", list{"UPDATE"}, list{""}, list{"namespaces"}, ""},
		{"another kind", list{"DELETE"}, list{"apps"}, list{"deployments"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{APIGroups: tt.groups, Resources: tt.resources}}
			for _, o := range tt.operations {
				r.Operations = append(r.Operations, admissionregistrationv1.OperationType(o))
			}
			if diff := cmp.Diff(tt.want, same([]admissionregistrationv1.RuleWithOperations{r})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOverlaps(t *testing.T) {
	t.Parallel()
	cm := func(namespace, name string) object.ID {
		return object.ID{Kind: "ConfigMap", Namespace: namespace, Name: name}
	}
	got := overlaps(map[string][]object.ID{
		"a": {object.NamespaceID("n"), cm("n", "x"), cm("m", "y")},
		"b": {object.NamespaceID("n"), cm("n", "z")},
		"c": {object.NamespaceID("k"), cm("k", "x")},
	})
	want := []Count{{"objects that several RootSyncs have, of which one will keep each", 1}, {"namespaces in which several RootSyncs have objects", 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
