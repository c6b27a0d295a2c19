// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package tree_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree/treetest"
)

// namespace has PodSecurity labels, as in "enforce=restricted", and annotations.
func namespace(labels string, annotations map[string]string) *tree.Object {
	o := &tree.Object{Labels: map[string]string{}, Annotations: annotations}
	for pair := range strings.FieldsSeq(labels) {
		key, value, _ := strings.Cut(pair, "=")
		o.Labels["pod-security.kubernetes.io/"+key] = value
	}
	return o
}

func subnamespaceOf(parent string, record ...string) map[string]string {
	out := map[string]string{hncv1alpha2.AnnotationSubnamespaceOf: parent}
	for _, r := range record {
		out[v1alpha1.InheritedPodSecurityAnnotation] = r
	}
	return out
}

func podSecurity(o *tree.Outcome) string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(o.Labels)) {
		if short, is := strings.CutPrefix(key, "pod-security.kubernetes.io/"); is {
			out = append(out, short+"="+o.Labels[key])
		}
	}
	return strings.Join(out, " ")
}

func TestPodSecurity_ofSubnamespaces(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		parent, child string
		// record is what the subnamespace has from its parent; "none" if it has no such annotation.
		record       string
		want, wanted string
	}{
		{name: "a new one has the labels of its parent", parent: "enforce=restricted warn=restricted", want: "enforce=restricted warn=restricted", wanted: "enforce=restricted,warn=restricted"},
		{name: "of a parent without labels it has none", want: "", wanted: ""},
		{name: "a parent that gets labels gives them", parent: "enforce=restricted", want: "enforce=restricted", wanted: "enforce=restricted"},
		{name: "a parent that changes them changes them", parent: "enforce=restricted", child: "enforce=baseline", record: "enforce=baseline", want: "enforce=restricted", wanted: "enforce=restricted"},
		{name: "a parent that loses them takes them away", child: "enforce=baseline", record: "enforce=baseline", want: "", wanted: ""},
		{name: "what an administrator has set stays", parent: "enforce=restricted", child: "enforce=privileged", record: "enforce=baseline", want: "enforce=privileged", wanted: "enforce=baseline"},
		{name: "each label by itself", parent: "enforce=restricted warn=restricted", child: "enforce=privileged warn=baseline", record: "enforce=baseline,warn=baseline", want: "enforce=privileged warn=restricted", wanted: "enforce=baseline,warn=restricted"},
		{name: "what was there before the parent had it stays", parent: "enforce=restricted", child: "enforce=baseline", want: "enforce=baseline", wanted: ""},
		{name: "what is taken away comes again", parent: "enforce=restricted", record: "enforce=restricted", want: "enforce=restricted", wanted: "enforce=restricted"},
		{name: "the recorded value follows again", parent: "enforce=restricted", child: "enforce=baseline", record: "enforce=baseline", want: "enforce=restricted", wanted: "enforce=restricted"},
		{name: "versions are labels too", parent: "enforce=restricted enforce-version=v1.30", want: "enforce=restricted enforce-version=v1.30", wanted: "enforce=restricted,enforce-version=v1.30"},
		{name: "without the annotation it keeps what it has", parent: "enforce=restricted", child: "warn=baseline", record: "none", want: "warn=baseline", wanted: "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			record := []string{tt.record}
			if tt.record == "none" {
				record = nil
			}
			o := treetest.Make(t, "a", tree.SetNamespace("a", namespace(tt.parent, nil)),
				tree.SetNamespace("s", namespace(tt.child, subnamespaceOf("a", record...)))).Get("s")
			if diff := cmp.Diff(tt.want, podSecurity(o)); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			got, has := o.Annotations[v1alpha1.InheritedPodSecurityAnnotation]
			if !has {
				got = "none"
			}
			if diff := cmp.Diff(tt.wanted, got); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodSecurity_whoFollows(t *testing.T) {
	t.Parallel()
	made := treetest.Make(t, "a <- full, ?gone <- x",
		tree.SetNamespace("a", namespace("enforce=restricted", nil)),
		tree.SetNamespace("full", namespace("", map[string]string{v1alpha1.InheritedPodSecurityAnnotation: ""})),
		tree.SetNamespace("s", namespace("", subnamespaceOf("a", ""))),
		tree.SetNamespace("t", namespace("", subnamespaceOf("s", ""))),
		tree.SetNamespace("own", namespace("enforce=baseline", subnamespaceOf("s", ""))),
		tree.SetNamespace("below", namespace("", subnamespaceOf("own", ""))),
		tree.SetNamespace("orphan", namespace("enforce=baseline", subnamespaceOf("gone", "enforce=baseline"))),
	)
	for name, want := range map[string]string{
		"a": "enforce=restricted", "full": "", "s": "enforce=restricted", "t": "enforce=restricted",
		"own": "enforce=baseline", "below": "enforce=baseline", "orphan": "enforce=baseline",
	} {
		if got := podSecurity(made.Get(name)); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	after, changed := made.Apply(tree.SetNamespace("a", namespace("enforce=baseline", nil)))
	if got := podSecurity(after.Get("t")); got != "enforce=baseline" || !slices.Contains(changed, "t") {
		t.Errorf("after the root has changed t has %q, and changed are %v", got, changed)
	}
}

func TestKeys_neverHaveWhatBoundsUsers(t *testing.T) {
	t.Parallel()
	keys, err := tree.CompileKeys([]string{`.*/.*`, `.*\.kubernetes\.io/.*`, `(pod|node)-security\.kubernetes\.io/.*`})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{
		"pod-security.kubernetes.io/enforce": false, "pod-security.kubernetes.io/enforce-version": false, "kubernetes.io/metadata.name": false,
		"scheduler.alpha.kubernetes.io/node-selector": false, "openshift.io/sa.scc.uid-range": false, "openshift.io/node-selector": false,
		"security.openshift.io/scc.podSecurityLabelSync": false, "admission.gatekeeper.sh/ignore": false, "field.cattle.io/projectId": false,
		"resourcetemplate.karmada.io/deletion-protected": false, "policy.kruise.io/delete-protection": false, "policy.kruise.io/other": true,
		"client.lifecycle.config.k8s.io/deletion": false, "config.kubernetes.io/depends-on": false, "applyset.kubernetes.io/part-of": false,
		"argocd.argoproj.io/instance": false, "kustomize.toolkit.fluxcd.io/name": false, "helm.toolkit.fluxcd.io/name": false, "meta.helm.sh/release-name": false,
		"openshift.io/display-name": true, "kubernetes.io/metadata.name.more": true, "example.com/team": true, "node-security.kubernetes.io/x": true,
	} {
		if got := keys.Has(key); got != want {
			t.Errorf("%s: %t, want %t", key, got, want)
		}
	}
}

func TestCompileKeys_refusesExpressionsThatNameWhatBoundsUsers(t *testing.T) {
	t.Parallel()
	for expression, refused := range map[string]bool{
		`pod-security.kubernetes.io/.*`: true, `pod-security\.kubernetes\.io/enforce`: true, `team|pod-security\.kubernetes\.io/(enforce|warn)`: true,
		`kubernetes\.io/metadata\.name`: true, `scheduler.alpha.kubernetes.io/node-selector`: true, `(openshift.io/node-selector)`: true,
		`openshift\.io/sa\.scc\..*`: true, `field.cattle.io/projectId`: true,
		`.*/.*`: false, `.*\.kubernetes\.io/.*`: false, `team`: false, `example\.com/pod-security\.kubernetes\.io`: false,
		`my-pod-security.kubernetes.io/.*`: false, `openshift.io/display-name`: false,
	} {
		_, err := tree.CompileKeys([]string{expression})
		if (err != nil) != refused {
			t.Errorf("%s: %v, want it refused: %t", expression, err, refused)
		}
		if err != nil && !strings.Contains(err.Error(), "label or annotate the Namespaces") {
			t.Errorf("%s: the error does not say what to do: %v", expression, err)
		}
	}
}
