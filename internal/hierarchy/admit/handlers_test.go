// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

const (
	hierarchies    = "hierarchyconfigurations.hnc.x-k8s.io"
	anchors        = "subnamespaceanchors.hnc.x-k8s.io"
	configurations = "hncconfigurations.hnc.x-k8s.io"
	treeNamespaces = "namespaces.hnc.x-k8s.io"
	newNamespaces  = "new-namespaces.hnc.x-k8s.io"
	otherNames     = "other-namespaces.hnc.x-k8s.io"
	objects        = "objects.hnc.x-k8s.io"
	labels         = "namespacelabel.hnc.x-k8s.io"
)

func TestHierarchyConfigurations(t *testing.T) {
	t.Parallel()
	const owned = "{metadata: {name: hierarchy, ownerReferences: [{uid: o}]}, spec: {parent: a}}"
	tests := []struct {
		name, tree string
		secrets    []string
		op         admissionv1.Operation
		of         string
		object     string
		before     string
		exists     []string
		want, says string
	}{
		{"in an excluded namespace", "!x", nil, "CREATE", "x", "{spec: {}}", "", nil, "403", "not managed"},
		{"below an excluded namespace", "!x, a", nil, "CREATE", "a", "{spec: {parent: x}}", "", nil, "403", "cannot be a parent"},
		{"with a key that is none", "a", nil, "CREATE", "a", "{spec: {labels: [{key: a b, value: c}]}}", "", nil, "422", "no key"},
		{"with a label that is not managed", "a", nil, "UPDATE", "a", "{spec: {labels: [{key: other, value: c}]}}", "", nil, "422", "other"},
		{"with a managed label", "a", nil, "UPDATE", "a", "{spec: {labels: [{key: team, value: c}]}}", "", nil, "ok", ""},
		{"of a namespace that is not known yet", "a", nil, "CREATE", "new", "{spec: {parent: a}}", "", nil, "503", "try again"},
		{"below a halted ancestor", "?z <- a <- b, c", nil, "UPDATE", "b", "{spec: {parent: c}}", "", nil, "403", "halted"},
		{"of an external namespace", "~e, a", nil, "CREATE", "e", "{spec: {parent: a}}", "", nil, "403", "somebody else"},
		{"with the same parent", "a <- b", nil, "UPDATE", "b", "{spec: {parent: a, allowCascadingDeletion: true}}", "", nil, "ok", ""},
		{"of a subnamespace", "a <- *b, c", nil, "CREATE", "b", "{spec: {parent: c}}", "", nil, "409", "subnamespace"},
		{"below what is not there", "a", nil, "CREATE", "a", "{spec: {parent: z}}", "", nil, "403", "does not exist"},
		{"below itself", "a", nil, "CREATE", "a", "{spec: {parent: a}}", "", nil, "409", "a"},
		{"below its child", "a <- b", nil, "CREATE", "a", "{spec: {parent: b}}", "", nil, "409", "b -> a"},
		{"where a source would give way", "a, b", []string{"a", "b"}, "CREATE", "b", "{spec: {parent: a}}", "", nil, "409", "Secret b/x"},
		{"of a root, below a namespace of the user's", "may, b", nil, "CREATE", "b", "{spec: {parent: may}}", "", nil, "ok if in may", ""},
		{"of a root, below a namespace of somebody else's", "a, b", nil, "CREATE", "b", "{spec: {parent: a}}", "", nil, "401 if in a", `the namespace "a"`},
		{"taken out of the user's tree", "may <- b", nil, "UPDATE", "b", "{spec: {}}", "", nil, "ok if in may", ""},
		{"taken out of somebody else's tree", "r <- may <- b", nil, "UPDATE", "b", "{spec: {}}", "", nil, "401 if in r", ""},
		{"taken to another tree of the user's", "may <- b, may2", nil, "UPDATE", "b", "{spec: {parent: may2}}", "", nil, "ok if in may+may2", ""},
		{"taken to another tree", "may <- b, c", nil, "UPDATE", "b", "{spec: {parent: c}}", "", nil, "401 if in may+c", ""},
		{"moved within a tree", "r <- may <- b, may <- c", nil, "UPDATE", "b", "{spec: {parent: c}}", "", nil, "ok if in may", ""},
		{"of an orphan whose parent is gone", "?z <- b, may", nil, "UPDATE", "b", "{spec: {parent: may}}", "", nil, "ok if in may", ""},
		{"of an orphan whose parent is there", "?z <- b, may", nil, "UPDATE", "b", "{spec: {parent: may}}", "", []string{"z"}, "503", "try again"},
		{"deleted in the user's tree", "may <- b", nil, "DELETE", "b", "", "{spec: {parent: may}}", nil, "ok if in may", ""},
		{"deleted in somebody else's tree", "a <- b", nil, "DELETE", "b", "", "{spec: {parent: a}}", nil, "401 if in a", ""},
		{"deleted in a namespace that is being deleted", "a <- -b", nil, "DELETE", "b", "", "{spec: {parent: a}}", nil, "ok", ""},
		{"deleted in a root", "a", nil, "DELETE", "a", "", "{spec: {}}", nil, "ok", ""},
		{"deleted in an excluded namespace", "!x", nil, "DELETE", "x", "", "{spec: {}}", nil, "ok", ""},
		{"that gets an owner, in somebody else's tree", "a <- b", nil, "UPDATE", "b", owned, "{spec: {parent: a}}", nil, "401 if in a", ""},
		{"that has the owner already", "a <- b", nil, "UPDATE", "b", owned, owned, nil, "ok", ""},
		{"that is made with an owner", "may, b", nil, "CREATE", "b", strings.Replace(owned, "parent: a", "parent: may", 1), "", nil, "ok if in may", ""},
		{"with fields that are not known", "a", nil, "UPDATE", "a", "{spec: {more: {}}, other: 1}", "", nil, "ok", ""},
		{"that cannot be read", "a", nil, "UPDATE", "a", "{spec: {parent: [a]}}", "", nil, "400", "decode"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.tree, tt.secrets...)
			r.may, r.exists = []string{"may", "may2"}, tt.exists
			r.check(t, hierarchies, request{op: tt.op, namespace: tt.of, object: tt.object, before: tt.before}, tt.want, tt.says)
		})
	}
}

func TestHierarchyConfigurations_whatIsAskedAboutTheUser(t *testing.T) {
	t.Parallel()
	r := newRig(t, "may, b")
	r.may = []string{"may"}
	r.check(t, hierarchies, request{op: "CREATE", namespace: "b", object: "{spec: {parent: may}}"}, "ok if in may", "")
	want := []authorizationv1.SubjectAccessReviewSpec{{
		User: "ann", UID: "7", Groups: []string{"dev"}, Extra: map[string]authorizationv1.ExtraValue{"scope": {"a", "b"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: "may", Verb: "update", Group: "hnc.x-k8s.io", Resource: "hierarchyconfigurations", Version: "*",
		},
	}}
	if diff := cmp.Diff(want, r.asked); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
}

// Who applies a namespace with what is in it asks before the watch has told of it.
func TestHierarchyConfigurations_ofNamespacesThatAreNew(t *testing.T) {
	t.Parallel()
	q := request{op: "CREATE", namespace: "new", object: "{spec: {parent: may}}"}
	later := newRig(t, "may, new").world
	for name, r := range map[string]*rig{"a new child": newRig(t, "may"), "a new parent": newRig(t, "new"), "both": newRig(t, "a")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.may, r.exists, r.later = []string{"may"}, []string{"new", "may"}, &later
			r.check(t, hierarchies, q, "ok if in may", "")
		})
	}
	t.Run("one that stays unknown", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		r := newRig(t, "may")
		r.exists = []string{"new"}
		got, _ := call(ctx, t, r.webhooks(t)[0].Handler, q.review(t))
		if got == nil || got.Allowed || got.Result.Code != 503 || !strings.Contains(got.Result.Message, "try again") {
			t.Errorf("got %+v, want 503", got)
		}
	})
}

func TestAnchors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, tree, in, anchor string
		op                     admissionv1.Operation
		want, says             string
	}{
		{"a name that is none", "a", "a", "{metadata: {name: A}}", "CREATE", "422", "no name"},
		{"a label that is not managed", "a", "a", "{metadata: {name: s}, spec: {labels: [{key: other, value: c}]}}", "CREATE", "422", "other"},
		{"a managed label", "a", "a", "{metadata: {name: s}, spec: {labels: [{key: team, value: c}]}}", "CREATE", "ok", ""},
		{"in an excluded namespace", "!x", "x", "{metadata: {name: s}}", "CREATE", "403", "cannot have subnamespaces"},
		{"of an excluded name", "a, !x", "a", "{metadata: {name: x}}", "CREATE", "403", "cannot be a subnamespace"},
		{"of a namespace that there is", "a, b", "a", "{metadata: {name: b}}", "CREATE", "409", "already"},
		{"of a subnamespace whose anchor is missing", "a <- /b", "a", "{metadata: {name: b}}", "CREATE", "ok", ""},
		{"changed to a label that is not managed", "a <- *b", "a", "{metadata: {name: b}, spec: {labels: [{key: other, value: c}]}}", "UPDATE", "422", "other"},
		{"changed", "a <- *b", "a", "{metadata: {name: b}}", "UPDATE", "ok", ""},
		{"deleted, of a subnamespace with children", "a <- *b <- c", "a", "{metadata: {name: b}}", "DELETE", "403", "(c)"},
		{"deleted, with cascading deletion", "a <- *+b <- c", "a", "{metadata: {name: b}}", "DELETE", "ok", ""},
		{"deleted, with a label that is not managed any more", "a <- *b", "a", "{metadata: {name: b}, spec: {labels: [{key: other, value: c}]}}", "DELETE", "ok", ""},
		{"deleted, of a subnamespace that may not go", "a <- *stays", "a", "{metadata: {name: stays}}", "DELETE", "403", "stays is protected"},
		{"deleted, of a subnamespace that stays where it is", "stays, a <- @stays", "a", "{metadata: {name: stays}}", "DELETE", "ok", ""},
		{"that cannot be read", "a", "a", "{metadata: {name: s}, spec: 1}", "CREATE", "400", "decode"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := request{op: tt.op, namespace: tt.in, object: tt.anchor}
			if tt.op == "DELETE" {
				q.object, q.before = "", tt.anchor
			}
			r := newRig(t, tt.tree)
			r.stay = []string{"stays"}
			r.check(t, anchors, q, tt.want, tt.says)
		})
	}
}

// Who allows cascading deletion may delete at once: the watch has not told of it when the webhook is asked.
func TestCascadingDeletion_allowedAMomentAgo(t *testing.T) {
	t.Parallel()
	const anchor, sub = "{metadata: {name: b}}", "{metadata: {name: b, annotations: {hnc.x-k8s.io/subnamespace-of: gone}}}"
	for name, q := range map[string]struct {
		webhook, before, after string
		request
	}{
		"an anchor":   {anchors, "a <- *b <- c", "a <- *+b <- c", request{op: "DELETE", namespace: "a", before: anchor}},
		"a namespace": {treeNamespaces, "b <- *c", "+b <- *c", request{op: "DELETE", before: sub}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			later := newRig(t, q.after).world
			r := newRig(t, q.before)
			r.cascades, r.later = []string{"b"}, &later
			r.check(t, q.webhook, q.request, "ok", "")
		})
		t.Run(name+", of one that does not allow it", func(t *testing.T) {
			t.Parallel()
			newRig(t, q.before).check(t, q.webhook, q.request, "403", "allow cascading deletion")
		})
	}
}

func TestHNCConfigurations(t *testing.T) {
	t.Parallel()
	resources := func(list string) string { return "{metadata: {name: config}, spec: {resources: [" + list + "]}}" }
	tests := []struct {
		name       string
		op         admissionv1.Operation
		object     string
		mode       hncv1alpha2.SynchronizationMode // of Secrets until now
		others     []string
		want, says string
		reads      string // kinds whose objects are looked at
	}{
		{"deleted", "DELETE", "{metadata: {name: config}}", "", nil, "403", "cannot be deleted", ""},
		{"deleted, of another name", "DELETE", "{metadata: {name: other}}", "", nil, "ok", "", ""},
		{"with a resource that is not served", "CREATE", resources("{resource: roads}"), "Ignore", nil, "422", "no resource roads", ""},
		{"with a resource of the cluster", "CREATE", resources("{resource: nodes}"), "Ignore", nil, "422", "not in namespaces", ""},
		{"with roles", "UPDATE", resources("{group: rbac.authorization.k8s.io, resource: roles}"), "Ignore", nil, "422", "always propagated", ""},
		{"with roles in the singular and without their group", "UPDATE", resources("{resource: Role}"), "Ignore", nil, "422", "always propagated", ""},
		{"with a resource twice, in two spellings", "UPDATE", resources("{resource: secret}, {resource: secrets}"), "Propagate", nil, "422", "are the same", ""},
		{"with a kind that is not copied", "UPDATE", resources("{resource: secrets, mode: Remove}"), "Ignore", []string{"a", "b"}, "ok", "", ""},
		{"with a kind that was copied before", "UPDATE", resources("{resource: secrets}"), "AllowPropagate", []string{"a", "b"}, "ok", "", ""},
		{"with a new kind whose objects agree", "UPDATE", resources("{resource: secrets}"), "Ignore", []string{"a"}, "ok", "", "Secret"},
		{"with a new kind whose objects are at odds", "UPDATE", resources("{resource: secret, mode: Propagate}"), "Ignore", []string{"a", "b"}, "409", "Secret b/x by that in a", "Secret"},
		{"with a new kind with several at odds", "UPDATE", resources("{resource: secrets}"), "Ignore", []string{"a", "b", "c"}, "409", "Secret b/x by that in a, Secret c/x by that in a", "Secret"},
		{"with a new kind and an old one", "UPDATE", resources("{resource: secrets}, {resource: configmaps}"), "Propagate", nil, "ok", "", "ConfigMap"},
		{"with an excluded name", "UPDATE", "{metadata: {name: config}, spec: {excludedNamespaces: [a]}}", "", nil, "ok", "", ""},
		{"with an excluded name that is none", "UPDATE", `{metadata: {name: config}, spec: {excludedNamespaces: ["re:("]}}`, "", nil, "422", "re:(", ""},
		{"that cannot be read", "UPDATE", "{spec: {resources: 1}}", "", nil, "400", "decode", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "a <- b, a <- c")
			r.world.Sources, r.others = sources(tt.mode), sources("Propagate", tt.others...)
			q := request{op: tt.op, object: tt.object}
			if tt.op == "DELETE" {
				q.object, q.before = "", tt.object
			}
			r.check(t, configurations, q, tt.want, tt.says)
			var read []string
			for _, kinds := range r.read {
				for _, k := range kinds {
					read = append(read, k.Kind)
				}
			}
			if got := strings.Join(read, " "); got != tt.reads {
				t.Errorf("it looks at the objects of %q, want %q", got, tt.reads)
			}
		})
	}
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, tree, webhook string
		op                  admissionv1.Operation
		namespace           string
		want, says          string
	}{
		{"a subnamespace with its anchor", "a <- *b", treeNamespaces, "DELETE", "{metadata: {name: b, annotations: {hnc.x-k8s.io/subnamespace-of: a}}}", "403", "anchor"},
		{"a subnamespace without its anchor", "a <- /b", treeNamespaces, "DELETE", "{metadata: {name: b, annotations: {hnc.x-k8s.io/subnamespace-of: a}}}", "ok", ""},
		{"a namespace with subnamespaces", "a <- *b", treeNamespaces, "DELETE", "{metadata: {name: a}}", "403", "(b)"},
		{"a namespace with subnamespaces, before its mark", "a <- *b", otherNames, "DELETE", "{metadata: {name: a}}", "403", "(b)"},
		{"a namespace with subnamespaces and cascading deletion", "+a <- *b", treeNamespaces, "DELETE", "{metadata: {name: a}}", "ok", ""},
		{"a namespace with full children", "a <- b", treeNamespaces, "DELETE", "{metadata: {name: a}}", "ok", ""},
		{"an excluded namespace", "!x", otherNames, "DELETE", "{metadata: {name: x}}", "ok", ""},
		{"a namespace that the tree does not know", "a", otherNames, "DELETE", "{metadata: {name: n}}", "ok", ""},
		{"a new namespace", "a", newNamespaces, "CREATE", "{metadata: {name: n}}", "ok", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := request{op: tt.op, object: tt.namespace}
			if tt.op == "DELETE" {
				q.object, q.before = "", tt.namespace
			}
			newRig(t, tt.tree).check(t, tt.webhook, q, tt.want, tt.says)
		})
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	annotated := func(key, value string) string {
		return `{kind: Secret, metadata: {name: x, annotations: {"` + key + `": "` + value + `"}}}`
	}
	const plain, select1 = "{kind: Secret, metadata: {name: x}}", "propagate.hnc.x-k8s.io/select"
	tests := []struct {
		name       string
		in         string
		secrets    []string
		before     string
		object     string
		want, says string
	}{
		{"a source", "a", nil, "", plain, "ok", ""},
		{"an exception", "a", nil, "", annotated("propagate.hnc.x-k8s.io/treeSelect", "!b"), "ok", ""},
		{"an annotation that there is not", "a", nil, "", annotated("other.hnc.x-k8s.io/x", "b"), "400", "other.hnc.x-k8s.io/x"},
		{"a selector that cannot be read", "a", nil, plain, annotated(select1, "a b"), "400", select1},
		{"a flag that cannot be read", "a", nil, plain, annotated("propagate.hnc.x-k8s.io/none", "perhaps"), "400", "none"},
		{"two exceptions", "a", nil, "", `{metadata: {annotations: {propagate.hnc.x-k8s.io/none: "true", propagate.hnc.x-k8s.io/all: "true"}}}`, "400", "only one"},
		{"one that would take the place of another", "a", []string{"b"}, "", plain, "409", "in the namespaces b"},
		{"one that leaves that one", "a", []string{"b"}, "", annotated("propagate.hnc.x-k8s.io/treeSelect", "!b"), "ok", ""},
		{"a source in a namespace that is not known", "n", nil, "", plain, "ok", ""},
		{"a copy by hand", "b", nil, "", "{metadata: {name: x, labels: {hnc.x-k8s.io/inherited-from: a}}}", "403", "of copies only"},
		{"a copy of which only the status changes", "b", nil, "{metadata: {labels: {hnc.x-k8s.io/inherited-from: a}}}", "{metadata: {labels: {hnc.x-k8s.io/inherited-from: a}}, status: 1}", "ok", ""},
		{"an object that is none", "a", nil, "", "[]", "ok", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := request{op: "CREATE", namespace: tt.in, object: tt.object, before: tt.before, kind: metav1.GroupVersionKind{Version: "v1", Kind: "Secret"}}
			if tt.before != "" {
				q.op = "UPDATE"
			}
			newRig(t, "a <- b, a <- c", tt.secrets...).check(t, objects, q, tt.want, tt.says)
		})
	}
}

func TestLabel(t *testing.T) {
	t.Parallel()
	const key = "hnc.x-k8s.io/included-namespace"
	tests := []struct{ name, namespace, want string }{
		{"a namespace without labels", "{metadata: {name: a}}", `[{"op":"add","path":"/metadata/labels","value":{"` + key + `":"true"}}]`},
		{"a namespace with labels", "{metadata: {name: a, labels: {b: c}}}", `[{"op":"add","path":"/metadata/labels/hnc.x-k8s.io~1included-namespace","value":"true"}]`},
		{"one that has it", "{metadata: {name: a, labels: {" + key + `: "true"}}}`, ""},
		{"one that has it wrong", "{metadata: {name: a, labels: {" + key + ": no}}}", ""},
		{"an excluded one", "{metadata: {name: x}}", ""},
		{"one whose name is not known yet", "{metadata: {generateName: a-}}", ""},
		{"one that cannot be read", "{metadata: 1}", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "a")
			r.unknown = errUnknown // it goes by the name alone
			for _, op := range []admissionv1.Operation{"CREATE", "UPDATE"} {
				got, _ := r.answer(t, labels, request{op: op, object: tt.namespace}.review(t))
				if !got.Allowed || string(got.Patch) != tt.want || (tt.want != "") != (got.PatchType != nil) {
					t.Errorf("%s: %+v, %s, want %s", op, got, got.Patch, tt.want)
				}
			}
		})
	}
}

// A kind that cannot be read cannot be judged.
func TestHNCConfigurations_whatCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	q := request{op: "UPDATE", object: "{metadata: {name: config}, spec: {resources: [{resource: secrets}]}}"}
	for name, change := range map[string]func(*rig){
		"500, looking at the objects fails":    func(r *rig) { r.failing = errUnknown },
		"500, nothing is known of the objects": func(r *rig) { r.others = nil },
		"503, nobody answers in time":          func(r *rig) { r.failing = context.DeadlineExceeded },
		"503, the kinds are not known":         func(r *rig) { r.kinds = (*inventory.Snapshot)(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "a")
			r.world.Sources = sources("Ignore")
			change(r)
			code, _, _ := strings.Cut(name, ",")
			r.check(t, configurations, q, code, "")
		})
	}
}

func TestHNCConfigurations_rightsThatHoldfastLacks(t *testing.T) {
	t.Parallel()
	const advice = holdfast + ` may not create, delete secrets, so these are not copied: ` +
		`bind it to a ClusterRole with the rule {apiGroups: [""], resources: [secrets], verbs: [get, list, watch, create, update, delete]}`
	for _, tt := range []struct {
		name          string
		resource      string
		lacks         []string
		broken        bool
		want, says    string
		warning       string
		looksAtOthers bool
	}{
		{name: "to write", resource: "{resource: secrets}", lacks: []string{"create", "delete"}, want: "ok", warning: advice, looksAtOthers: true},
		{name: "to write, of a kind that is not copied", resource: "{resource: secrets, mode: Remove}", lacks: []string{"create"}, want: "ok"},
		{name: "to list: nobody can say what would be overwritten", resource: "{resource: secrets}", lacks: []string{"list"}, want: "403", says: "may not list secrets"},
		{name: "which are not known", resource: "{resource: secrets}", broken: true, want: "ok", looksAtOthers: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "a")
			r.world.Sources, r.lacks, r.broken = sources("Ignore"), tt.lacks, tt.broken
			q := request{op: "UPDATE", object: "{metadata: {name: config}, spec: {resources: [" + tt.resource + "]}}"}
			r.check(t, configurations, q, tt.want, tt.says)
			if looked := len(r.read) > 0; looked != tt.looksAtOthers {
				t.Errorf("it looks at the objects: %t", looked)
			}
			got, _ := r.answer(t, configurations, q.review(t))
			if diff := cmp.Diff(tt.warning, strings.Join(got.Warnings, "\n")); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
