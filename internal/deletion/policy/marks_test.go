// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	byMark        = v1alpha1.ProtectedByMark + "=one"
	whileUsedMark = v1alpha1.ProtectedWhileUsedByMark + "=two"
	holdsMark     = v1alpha1.HoldsProtectedMark + "=true"
	overridden    = v1alpha1.OverrideMark + "=urgent"
	contentsToo   = v1alpha1.OverrideContentsMark + "=urgent"

	unchecked = v1alpha1.DeleteUncheckedAnnotation
)

// annotated adds annotations, written as key and value, to an object.
func annotated(o *metav1.PartialObjectMetadata, pairs ...string) *metav1.PartialObjectMetadata {
	for i := 0; i < len(pairs); i += 2 {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, pairs[i], pairs[i+1])
	}
	return o
}

func TestDecide_marksRefuseDeletion(t *testing.T) {
	t.Parallel()
	all := map[Mark]bool{MarkProtection: true, MarkWhileUsed: true}
	tests := []struct {
		name     string
		resource string
		req      Request
		want     string
	}{
		{name: "what a protection selects stays", req: Request{OldObject: object(byMark)}, want: "delete protection"},
		{name: "a mark without a value says nothing", req: Request{OldObject: object(v1alpha1.ProtectedByMark + "=")}},
		{name: "what several protections select stays", req: Request{OldObject: object(v1alpha1.ProtectedByMark + "=2_protections")}, want: "delete protection"},
		{name: "what is protected while it is used stays while it is", resource: "apps/deployments", req: Request{OldObject: object(whileUsedMark), Used: true}, want: "delete protection-while-used"},
		{name: "what is protected while it is used goes when it is not", resource: "apps/deployments", req: Request{OldObject: object(whileUsedMark)}},
		{name: "what holds protected content stays", req: Request{OldObject: object(holdsMark)}, want: "delete contents"},
		{name: "each mark speaks for itself", req: Request{OldObject: object(byMark, whileUsedMark, holdsMark), Used: true}, want: "delete protection, delete protection-while-used, delete contents"},
		{name: "a mark and a label speak for themselves", req: Request{OldObject: object(byMark, strict+"=Always")}, want: "delete holdfast, delete protection"},
		{name: "other marks refuse nothing", req: Request{OldObject: object(v1alpha1.InUseMark + "=true")}},
		{name: "marks of another object refuse nothing", req: Request{OldObject: object(byMark, whileUsedMark, holdsMark, v1alpha1.MarkedLabel+"=2"), Used: true}},
		{name: "marks that are bound to nothing refuse nothing", req: Request{OldObject: object(byMark, v1alpha1.MarkedLabel+"=")}},
		{name: "marks of before they were bound refuse nothing", req: Request{OldObject: object(byMark, v1alpha1.MarkedLabel+"=true")}},
		{name: "an override of another object opens nothing", req: Request{OldObject: object(strict+"=Always", overridden, contentsToo, v1alpha1.MarkedLabel+"=2")}, want: "delete holdfast"},
		{name: "a terminating object is let go", req: Request{OldObject: object(byMark, holdsMark, "terminating")}},
		{name: "a controller deletes what it made", resource: "pods", req: Request{OldObject: object(byMark, holdsMark, "controller:a"), User: gc}},
		{name: "a person does not", resource: "pods", req: Request{OldObject: object(byMark, "controller:a"), User: person}, want: "delete protection"},

		{name: "an override opens a protection", req: Request{OldObject: object(byMark, overridden)}},
		{name: "an override opens a protection while used", req: Request{OldObject: object(whileUsedMark, overridden), Used: true}},
		{name: "an override opens a label", req: Request{OldObject: object(strict+"=Always", karmada+"=Always", kruise+"=Always", overridden)}},
		{name: "an override alone leaves what the object holds", req: Request{OldObject: object(holdsMark, overridden)}, want: "delete contents"},
		{name: "an override of the contents opens what the object holds", req: Request{OldObject: object(holdsMark, overridden, contentsToo)}},
		{name: "an override of the contents alone does not open the object", req: Request{OldObject: object(byMark, contentsToo)}, want: "delete protection"},
		{name: "an override that is empty opens nothing", req: Request{OldObject: object(byMark, v1alpha1.OverrideMark+"=")}, want: "delete protection"},

		{name: "what is in a released namespace goes, protected", req: Request{OldObject: object(byMark), Released: true}},
		{name: "what is in a released namespace goes, labelled", req: Request{OldObject: object(strict+"=Always", karmada+"=Always"), Released: true}},
		{name: "what is in a released namespace goes with what hangs below it", req: Request{OldObject: object(holdsMark), Released: true}},

		{name: "who may bypass deletes", req: Request{OldObject: object(byMark, whileUsedMark), Used: true, MayBypass: all}},
		{name: "who may bypass one protection does not bypass the other", req: Request{OldObject: object(byMark, whileUsedMark), Used: true, MayBypass: map[Mark]bool{MarkProtection: true}}, want: "delete protection-while-used"},
		{name: "who may bypass does not bypass a label", req: Request{OldObject: object(byMark, strict+"=Always"), MayBypass: all}, want: "delete holdfast"},
		{name: "who may bypass does not bypass contents", req: Request{OldObject: object(holdsMark), MayBypass: map[Mark]bool{MarkProtection: true, MarkWhileUsed: true, MarkContents: true}}, want: "delete contents"},
		{name: "who may unprotect does not bypass", req: Request{OldObject: object(byMark), MayUnprotect: true}, want: "delete protection"},

		{name: "unchecked, with the name and the right, contents do not hold", req: Request{OldObject: annotated(object(holdsMark), unchecked, "web"), MayUnprotect: true}},
		{name: "unchecked, a claim keeps its volume, which is not in its namespace", resource: "persistentvolumeclaims", req: Request{OldObject: annotated(object(holdsMark), unchecked, "web"), MayUnprotect: true}, want: "delete contents"},
		{name: "unchecked without the right they do", req: Request{OldObject: annotated(object(holdsMark), unchecked, "web")}, want: "delete contents"},
		{name: "unchecked with another name they do", req: Request{OldObject: annotated(object(holdsMark), unchecked, "shop"), MayUnprotect: true}, want: "delete contents"},
		{name: "the right alone does not delete contents", req: Request{OldObject: object(holdsMark), MayUnprotect: true}, want: "delete contents"},
		{name: "unchecked is no way past a protection", req: Request{OldObject: annotated(object(byMark), unchecked, "web"), MayUnprotect: true}, want: "delete protection"},

		{name: "an owner goes when what it owns is orphaned", resource: "apps/deployments", req: Request{OldObject: object(holdsMark), Orphans: true}},
		{name: "a namespace does not, for nothing in it can be orphaned", resource: "namespaces", req: Request{OldObject: object(holdsMark), Orphans: true}, want: "delete contents"},
		{name: "a claim does not, for its volume goes all the same", resource: "persistentvolumeclaims", req: Request{OldObject: object(holdsMark), Orphans: true}, want: "delete contents"},
		{name: "a pod makes room, whatever hangs below it", resource: "pods", req: Request{OldObject: object(byMark, holdsMark), User: "system:kube-scheduler"}},
		{name: "orphaning is no way past a protection", req: Request{OldObject: object(byMark), Orphans: true}, want: "delete protection"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.resource == "" {
				tt.resource = "configmaps"
			}
			req := tt.req
			req.Operation, req.Namespace = admissionv1.Delete, "shop"
			req.Resource, _ = resource(tt.resource)
			if diff := cmp.Diff(tt.want, summary(defaultRules(nil).Decide(req))); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

// A mark has no rule but the one against deletion: who may write it is another
// package's matter.
func TestDecide_marksHaveNoOtherRule(t *testing.T) {
	t.Parallel()
	marked := object(byMark, whileUsedMark, holdsMark)
	for _, req := range []Request{
		{Operation: admissionv1.Create, Object: marked},
		{Operation: admissionv1.Update, OldObject: marked, Object: object()},
		{Operation: admissionv1.Update, OldObject: object(), Object: marked},
		{Operation: admissionv1.Create, SubResource: "binding", Object: object(v1alpha1.ProtectedByMark + "=")},
		{Operation: admissionv1.Delete, SubResource: "any", OldObject: marked},
		{Operation: admissionv1.Connect},
	} {
		req.Resource, _ = resource("pods")
		if got := summary(defaultRules(nil).Decide(req)); got != "" {
			t.Errorf("%s %q: got %q, want nothing", req.Operation, req.SubResource, got)
		}
	}
}

func TestDecide_labelsThatSelect(t *testing.T) {
	t.Parallel()
	const selecting, whileUsed = v1alpha1.ProtectedByMark + "-labels", v1alpha1.ProtectedWhileUsedByMark + "-labels"
	one := func(words ...string) *metav1.PartialObjectMetadata {
		return annotated(object(append(words, byMark)...), selecting, "app,tier")
	}
	tests := []struct {
		name     string
		resource string
		req      Request
		want     string
	}{
		{name: "one of them changes", req: Request{OldObject: one("app=a"), Object: one("app=b")}, want: "relabel protection"},
		{name: "one of them is removed", req: Request{OldObject: one("app=a"), Object: one()}, want: "relabel protection"},
		{name: "one of them is removed that was empty", req: Request{OldObject: one("app="), Object: one()}, want: "relabel protection"},
		{name: "one is added whose absence selects", req: Request{OldObject: one(), Object: one("tier=")}, want: "relabel protection"},
		{name: "the annotation goes too", req: Request{OldObject: one("app=a"), Object: object(byMark)}, want: "relabel protection"},
		{name: "other labels change", req: Request{OldObject: one("app=a"), Object: one("app=a", "other=b")}},
		{name: "with the right", req: Request{OldObject: one("app=a"), Object: one(), MayUnprotect: true}},
		{name: "by the operator of the object", req: Request{OldObject: one("app=a", "controller:a"), Object: one("controller:a"), Operates: true}, want: "relabel protection"},
		{name: "through a subresource", resource: "configmaps/status", req: Request{OldObject: one("app=a"), Object: one()}, want: "relabel protection"},
		{name: "a controller copies labels to what it made", resource: "pods", req: Request{OldObject: one("app=a", "controller:a"), Object: one("controller:a"), User: gc}},
		{name: "a controller changes what it did not make", resource: "pods", req: Request{OldObject: one("app=a"), Object: one(), User: gc}, want: "relabel protection"},
		{name: "a kubelet labels its node", resource: "nodes", req: Request{OldObject: one("app=a"), Object: one(), User: "system:node:n1"}},
		{name: "an object that is being deleted", req: Request{OldObject: one("app=a", "terminating"), Object: one("terminating")}},
		{name: "marks of another object", req: Request{OldObject: one("app=a", v1alpha1.MarkedLabel+"=2"), Object: one(v1alpha1.MarkedLabel + "=2")}},
		{name: "protected by name alone", req: Request{OldObject: object(byMark, "app=a"), Object: object(byMark)}},
		{name: "the labels of the other mark are its own", req: Request{OldObject: annotated(one("app=a"), whileUsed, "app"), Object: one()}, want: "relabel protection"},
		{
			name: "both marks speak for themselves", req: Request{OldObject: annotated(one("app=a", whileUsedMark), whileUsed, "app"), Object: one(whileUsedMark)},
			want: "relabel protection, relabel protection-while-used",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.resource == "" {
				tt.resource = "configmaps"
			}
			req := tt.req
			req.Operation, req.Namespace = admissionv1.Update, "shop"
			req.Resource, req.SubResource = resource(tt.resource)
			if diff := cmp.Diff(tt.want, summary(defaultRules(nil).Decide(req))); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecide_messageOfLabelsThatSelect(t *testing.T) {
	t.Parallel()
	old := annotated(object(byMark, "app=a", "tier=db"), v1alpha1.ProtectedByMark+"-labels", "app,tier", v1alpha1.ProtectedByMark, "one (ask dba)")
	r, _ := resource("secrets")
	got := defaultRules(nil).Decide(Request{Operation: admissionv1.Update, Resource: r, Namespace: "shop", OldObject: old, Object: object(byMark)})
	want := `ResourceDeletionProtection one (ask dba) selects secrets/web by labels, of which this update changes app, tier. That takes the object out of the protection and needs ` +
		`the RBAC verb "unprotect" on resourcedeletionprotections.holdfast.dev in the object's namespace, or cluster-wide for a Namespace or an object without one. Put these labels back into what you apply`
	if len(got) != 1 || got[0].Message != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestDecide_unchecked(t *testing.T) {
	t.Parallel()
	plain := object
	free := func(words ...string) *metav1.PartialObjectMetadata {
		return annotated(object(words...), unchecked, "web")
	}
	tests := []struct {
		name      string
		operation admissionv1.Operation
		old, new  *metav1.PartialObjectMetadata
		may       bool
		namespace bool
		want      string
	}{
		{name: "a definition is not deleted without a look", operation: admissionv1.Delete, old: free(), want: "unchecked contents"},
		{name: "with the right it is", operation: admissionv1.Delete, old: free(), may: true},
		{name: "a marked one holds what is below it, too", operation: admissionv1.Delete, old: free(holdsMark), want: "delete contents, unchecked contents"},
		{name: "an override of the contents is the look", operation: admissionv1.Delete, old: free(holdsMark, overridden, contentsToo)},
		{name: "one that is being deleted is let go", operation: admissionv1.Delete, old: free("terminating")},
		{name: "without the annotation the webhook looks", operation: admissionv1.Delete, old: plain()},
		{name: "the annotation is not prepared", operation: admissionv1.Update, old: plain(), new: free(), want: "unchecked contents"},
		{name: "with the right it is set", operation: admissionv1.Update, old: plain(), new: free(), may: true},
		{name: "another value means nothing", operation: admissionv1.Update, old: plain(), new: annotated(plain(), unchecked, "yes")},
		{name: "one that stands does not hold up other changes", operation: admissionv1.Update, old: free(), new: free("a=b")},
		{name: "it is taken off", operation: admissionv1.Update, old: free(), new: plain()},
		{name: "a definition is not made with it", operation: admissionv1.Create, new: free(), want: "unchecked contents"},
		{name: "a namespace keeps what is protected in it", operation: admissionv1.Delete, old: free(), namespace: true},
		{name: "so its annotation is free", operation: admissionv1.Update, old: plain(), new: free(), namespace: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := Request{Operation: tt.operation, Resource: CustomResourceDefinitions, OldObject: tt.old, Object: tt.new, MayUnprotect: tt.may}
			if tt.namespace {
				req.Resource = Namespaces
			}
			if diff := cmp.Diff(tt.want, summary(defaultRules(nil).Decide(req))); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecide_messagesOfMarks(t *testing.T) {
	t.Parallel()
	const ask = ". To let this one object go for a while: kubectl holdfast override ask "
	cluster := func(o *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
		o.Namespace = ""
		return o
	}
	tests := []struct {
		name     string
		resource string
		old      *metav1.PartialObjectMetadata
		want     string
	}{
		{
			name: "a protection is named by the mark", resource: "apps/deployments", old: object(byMark),
			want: "deployments.apps/web is protected from deletion by ResourceDeletionProtection one" + ask + "deployments.apps/web -n shop --reason WHY",
		},
		{
			name: "the annotation says more", resource: "apps/deployments", old: annotated(object(byMark), v1alpha1.ProtectedByMark, "one (ask Ann)"),
			want: "deployments.apps/web is protected from deletion by ResourceDeletionProtection one (ask Ann)" + ask + "deployments.apps/web -n shop --reason WHY",
		},
		{
			name: "nothing in an annotation is a place", resource: "configmaps", old: annotated(object(byMark), v1alpha1.ProtectedByMark, "{target}{namespace}"),
			want: "configmaps/web is protected from deletion by ResourceDeletionProtection {target}{namespace}" + ask + "configmaps/web -n shop --reason WHY",
		},
		{
			name: "a protection while used says so, and a cluster-scoped object has no namespace", resource: "namespaces", old: cluster(object(whileUsedMark)),
			want: "namespaces/web is protected from deletion while it is in use by ResourceDeletionProtection two" + ask + "namespaces/web --reason WHY",
		},
		{
			name: "contents are described by the annotation", resource: "namespaces",
			old:  cluster(annotated(object(holdsMark), v1alpha1.HoldsProtectedMark, "1 protected object: configmaps/a")),
			want: "namespaces/web is not deleted because of what hangs below it: 1 protected object: configmaps/a. To see all of it: kubectl holdfast why delete namespaces/web",
		},
		{
			name: "a label that says Cascading says while", resource: "apps/deployments", old: object(strict + "=Cascading"),
			want: "deployments.apps/web is protected from deletion while it is in use by the label holdfast.dev/deletion-protected. " +
				"Whoever holds the right to unprotect it can run: kubectl label deployments.apps/web -n shop holdfast.dev/deletion-protected-",
		},
		{
			name: "where Cascading means nothing it does not", resource: "configmaps", old: object(strict + "=Cascading"),
			want: "configmaps/web is protected from deletion by the label holdfast.dev/deletion-protected. " +
				"Whoever holds the right to unprotect it can run: kubectl label configmaps/web -n shop holdfast.dev/deletion-protected-",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			gr, _ := resource(tt.resource)
			got := defaultRules(nil).Decide(Request{Operation: admissionv1.Delete, Resource: gr, OldObject: tt.old, Used: true})
			if len(got) != 1 {
				t.Fatalf("got %d findings, want 1", len(got))
			}
			if diff := cmp.Diff(tt.want, got[0].Message); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// The policies are named by the keys, and the right to write them is bound to
// these names.
func TestNewRules_marks(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, k := range defaultRules(nil).Keys {
		if k.Mark != "" {
			got[k.PolicyName(RuleDelete)] = k.Label
		}
	}
	want := map[string]string{
		"holdfast-deletion-protection":            v1alpha1.ProtectedByMark,
		"holdfast-deletion-protection-while-used": v1alpha1.ProtectedWhileUsedByMark,
		"holdfast-deletion-contents":              v1alpha1.HoldsProtectedMark,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	labels := map[string]bool{}
	for _, k := range defaultRules(nil).Labels() {
		labels[k.Label] = true
	}
	if diff := cmp.Diff(map[string]bool{strict: true, karmada: true, kruise: true}, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
