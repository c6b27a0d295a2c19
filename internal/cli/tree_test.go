// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// manifests reads objects as files have them.
func manifests(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for document := range strings.SplitSeq(text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		out = append(out, o)
	}
	return out
}

// worldFrom makes a world of manifests; the first is the root.
func worldFrom(t *testing.T, text string) (w *world, root target) {
	t.Helper()
	w, err := worldOf(manifests(t, text), "shop")
	if err != nil {
		t.Fatal(err)
	}
	return w, w.objects[0]
}

const (
	always  = "labels: {holdfast.dev/deletion-protected: Always}"
	ownedBy = "ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: '', controller: true}]"
	root    = "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}}"
)

func TestTree(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, objects string
		all           bool
		want          string
	}{
		{
			name:    "nothing hangs below",
			objects: root + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}",
			want:    "",
		},
		{
			name: "dependents go, and theirs; a protected one does not",
			objects: root + `
---
{apiVersion: v1, kind: Pod, metadata: {name: db-0, ` + ownedBy + `}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: of-pod, ownerReferences: [{apiVersion: v1, kind: Pod, name: db-0}]}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, ` + always + `, ` + ownedBy + `}}`,
			want: `├─ persistentvolumeclaims/data  refused: protected by the label holdfast.dev/deletion-protected
└─ pods/db-0  would be deleted
   └─ configmaps/of-pod  would be deleted
`,
		},
		{
			name: "a pod that a template labels goes: the garbage collector may",
			objects: root + `
---
{apiVersion: v1, kind: Pod, metadata: {name: db-0, ` + always + `, ` + ownedBy + `}}`,
			want: "└─ pods/db-0  would be deleted\n",
		},
		{
			name: "what has another owner stays, and so does what hangs below what stays",
			objects: root + `
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: shared, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db}, {apiVersion: v1, kind: Node, name: n1, uid: elsewhere}]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: below, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: shared}]}}`,
			want: `└─ configmaps/shared  stays: its owner node/n1 stays
   └─ secrets/below  stays: its owner configmap/shared stays
`,
		},
		{
			name: "what both of its owners leave goes, whichever comes first",
			objects: root + `
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, ` + ownedBy + `}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, ` + ownedBy + `}}
---
{apiVersion: v1, kind: Secret, metadata: {name: both, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: a}, {apiVersion: v1, kind: ConfigMap, name: b}]}}`,
			want: `├─ configmaps/a  would be deleted
│  └─ secrets/both  would be deleted
└─ configmaps/b  would be deleted
`,
		},
		{
			name: "owners in a circle",
			objects: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: b}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: a}]}}`,
			want: "└─ configmaps/b  would be deleted\n",
		},
		{
			name: "an owner in between that holds something protected",
			objects: root + `
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: between, ` + ownedBy + `}}
---
{apiVersion: v1, kind: Secret, metadata: {name: key, ` + always + `, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: between}]}}`,
			want: `└─ configmaps/between  refused: holds 1 protected object: secrets/…
   └─ secrets/key  stays: its owner configmap/between stays
`,
		},
		{
			name:    "a namespace: the first few of each kind, protected ones first",
			objects: "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n---\n" + six,
			want: `└─ configmaps: 2 protected, 4 not protected
   ├─ e  refused: protected by the label holdfast.dev/deletion-protected
   ├─ f  refused: protected by ResourceDeletionProtection shop-data (for the shop)
   ├─ a  would be deleted
   └─ and 3 more configmaps (--all shows them)
`,
		},
		{
			name:    "a namespace: all",
			objects: "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n---\n" + six,
			all:     true,
			want: `└─ configmaps: 2 protected, 4 not protected
   ├─ a  would be deleted
   ├─ b  would be deleted
   ├─ c  would be deleted
   ├─ d  would be deleted: it is being deleted already
   ├─ e  refused: protected by the label holdfast.dev/deletion-protected
   └─ f  refused: protected by ResourceDeletionProtection shop-data (for the shop)
`,
		},
		{
			name: "a namespace that an override lets go with all that is in it",
			objects: `{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: "1", labels: {holdfast.dev/marked: "1", holdfast.dev/deletion-override: x, holdfast.dev/deletion-override-contents: x}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: key, ` + always + `}}`,
			want: `└─ secrets: 1 protected
   └─ key  would be deleted
`,
		},
		{
			name:    "a claim: its protected volume is lost, unless it is retained",
			objects: claim + "\n---\n" + volume("kept", "Delete", always) + "\n---\n" + volume("stays", "Retain", always) + "\n---\n" + volume("open", "Delete", ""),
			want: `├─ persistentvolumes/kept  would be lost, although protected by the label holdfast.dev/deletion-protected: nothing is asked when a volume goes with its claim
└─ persistentvolumes/open  would be deleted
`,
		},
		{
			name:    "a namespace: the claim holds its volume",
			objects: "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n---\n" + claim + "\n---\n" + volume("kept", "Delete", always),
			want: `├─ persistentvolumeclaims: 1 with something protected below
│  └─ data  refused: holds 1 protected object: persistentvolumes/kept
└─ persistentvolumes: 1 protected
   └─ kept  stays: its claim data stays
`,
		},
		{
			name: "an owner without a namespace: what is in one stays without it",
			objects: `{apiVersion: v1, kind: Node, metadata: {name: n1}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: blocker, ` + always + `, ownerReferences: [{apiVersion: v1, kind: Node, name: n1}]}}`,
			want: "└─ configmaps/blocker  refused: protected by the label holdfast.dev/deletion-protected\n",
		},
		{
			name: "a definition: protected instances are lost",
			objects: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: oxen.farm.example}, spec: {group: farm.example, scope: Namespaced, names: {kind: Ox, plural: oxen}}}
---
{apiVersion: farm.example/v1, kind: Ox, metadata: {name: old, namespace: north, ` + always + `}}
---
{apiVersion: farm.example/v1, kind: Ox, metadata: {name: new, namespace: south}}`,
			want: `└─ oxen.farm.example: 1 protected, 1 not protected
   ├─ north/old  would be lost, although protected by the label holdfast.dev/deletion-protected: nothing is asked when an instance goes with its definition
   └─ south/new  would be deleted
`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, top := worldFrom(t, tt.objects)
			streams, out, _ := testStreams()
			newClients(streams).printTree("", w.facts(top).below.branches(tt.all))
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

const claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}}"

// volume is that of the claim.
func volume(name, policy, labels string) string {
	return "{apiVersion: v1, kind: PersistentVolume, metadata: {name: " + name + ", " + labels + "}, spec: {persistentVolumeReclaimPolicy: " + policy + ", claimRef: {namespace: shop, name: data}}}"
}

// six are objects in a namespace, two of them protected.
const six = `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: d, deletionTimestamp: "2026-11-21T10:00:00Z", ` + always + `}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: e, ` + always + `}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: f}}
---
{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: shop-data}, spec: {reason: for the shop, protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: shop, name: f}]}]}}`

func TestBelow_saysWhatWasNotLookedAt(t *testing.T) {
	t.Parallel()
	b := below{
		Relation:    relationContents,
		NotLookedAt: []string{"pods.metrics.k8s.io"},
		Problems:    []string{"secrets were left out: no"},
	}
	streams, out, _ := testStreams()
	newClients(streams).printTree("", b.branches(false))
	const want = `├─ everything else in it would be deleted
├─ not looked at, because extension API servers serve them: pods.metrics.k8s.io
└─ not fully known: secrets were left out: no
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWorld_marksWhatProtectionsSelect(t *testing.T) {
	t.Parallel()
	w, _ := worldFrom(t, six)
	got := map[string]string{}
	for _, o := range w.objects {
		if value := o.meta.Labels[v1alpha1.ProtectedByMark]; value != "" {
			got[o.meta.Name] = value + ": " + o.meta.Annotations[v1alpha1.ProtectedByMark]
		}
	}
	if diff := cmp.Diff(map[string]string{"f": "shop-data: shop-data (for the shop)"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFileKinds(t *testing.T) {
	t.Parallel()
	kinds := newFileKinds(manifests(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: oxen.farm.example}, spec: {group: farm.example, scope: Cluster, names: {kind: Ox, plural: oxen}}}`))
	for _, tt := range []struct {
		name, apiVersion, kind string
		want                   string
		namespaced             bool
	}{
		{"a kind of Kubernetes", "networking.k8s.io/v1", "NetworkPolicy", "networkpolicies.networking.k8s.io", true},
		{"a kind whose name is a plural", "v1", "Endpoints", "endpoints", true},
		{"a kind without a namespace", "v1", "PersistentVolume", "persistentvolumes", false},
		{"a kind that a definition names", "farm.example/v2", "Ox", "oxen.farm.example", false},
		{"a kind that nothing is known of", "farm.example/v1", "Barn", "barns.farm.example", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := &unstructured.Unstructured{}
			o.SetAPIVersion(tt.apiVersion)
			o.SetKind(tt.kind)
			k := kinds.of(o.GroupVersionKind())
			if got := k.GroupResource().String(); got != tt.want || k.Namespaced != tt.namespaced {
				t.Errorf("got %s, namespaced %t", got, k.Namespaced)
			}
		})
	}
}

func TestExplainFiles_decidesForEachAndNests(t *testing.T) {
	t.Parallel()
	w, _ := worldFrom(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n---\n"+six)
	got := map[string][2]bool{} // allowed, nested
	for _, o := range w.objects {
		got[o.String()] = [2]bool{explainDelete(w.facts(o)).Allowed, w.nested(o)}
	}
	want := map[string][2]bool{
		"namespaces/shop": {false, false},
		"configmaps/a":    {true, true},
		"configmaps/b":    {true, true},
		"configmaps/c":    {true, true},
		"configmaps/d":    {true, true},
		"configmaps/e":    {false, true},
		"configmaps/f":    {false, true},
		"resourcedeletionprotections.holdfast.dev/shop-data": {true, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestExplainFiles_whatIsHeldUp(t *testing.T) {
	t.Parallel()
	w, _ := worldFrom(t, claim+"\n---\n"+volume("kept", "Delete", always)+`
---
{apiVersion: v1, kind: Node, metadata: {name: n1}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: blocker, `+always+`, ownerReferences: [{apiVersion: v1, kind: Node, name: n1}]}}`)
	got := map[string]bool{}
	for _, o := range w.objects {
		x := explainDelete(w.facts(o))
		got[o.String()] = x.Allowed
		if steps := strings.Join(x.NextSteps, "\n"); strings.Contains(steps, "orphan") {
			t.Errorf("%s: orphaning keeps no volume: %s", o, steps)
		}
	}
	want := map[string]bool{"persistentvolumeclaims/data": false, "persistentvolumes/kept": false, "nodes/n1": true, "configmaps/blocker": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestExplainFiles_showsOwnersInACircle(t *testing.T) {
	t.Parallel()
	w, _ := worldFrom(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: b}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: a}]}}`)
	for _, o := range w.objects {
		if w.nested(o) {
			t.Errorf("%s is shown nowhere", o)
		}
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	web := newTarget(deploymentKind, labelled("app", "web"))
	for _, tt := range []struct {
		name string
		args []string
		want bool
	}{
		{"no arguments", nil, true},
		{"its kind and name", []string{"deployment", "web"}, true},
		{"its kind as in the manifest", []string{"Deployment", "web"}, true},
		{"its resource and group", []string{"deployments.apps/web"}, true},
		{"the second of two names", []string{"deployments", "api", "web"}, true},
		{"another name", []string{"deployment", "api"}, false},
		{"another kind", []string{"service/web"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := named(web, tt.args, "shop"); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
	if named(web, []string{"deployment/web"}, "other") {
		t.Error("it is in another namespace")
	}
}
