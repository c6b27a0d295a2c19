// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	strict  = v1alpha1.DeletionProtectedLabel
	karmada = v1alpha1.KarmadaDeletionProtectedLabel
	kruise  = v1alpha1.KruiseDeletionProtectionLabel

	made = MadeByLabel + "=" + MadeByValue

	gc     = "system:serviceaccount:kube-system:generic-garbage-collector"
	person = "alice"
)

// object builds metadata from words: "k=v" is a label, "owner:uid" or
// "owner:uid/name" an owner reference, "controller:uid" one that is the controller, and "terminating".
func object(words ...string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "shop", UID: "1", Labels: map[string]string{v1alpha1.MarkedLabel: "1"},
	}}
	for _, w := range words {
		if key, value, ok := strings.Cut(w, "="); ok {
			metav1.SetMetaDataLabel(&o.ObjectMeta, key, value)
			continue
		}
		what, uid, _ := strings.Cut(w, ":")
		uid, name, _ := strings.Cut(uid, "/")
		switch what {
		case "owner":
			o.OwnerReferences = append(o.OwnerReferences, metav1.OwnerReference{UID: types.UID(uid), Name: name})
		case "controller":
			o.OwnerReferences = append(o.OwnerReferences, metav1.OwnerReference{UID: types.UID(uid), Name: name, Controller: new(true)})
		case "terminating":
			o.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
		default:
			panic("unknown word " + w)
		}
	}
	return o
}

// resource reads "pods", "pods/binding" or "apps/replicasets" with a group
// where the first part is one.
func resource(s string) (schema.GroupResource, string) {
	switch s {
	case "apps/replicasets":
		return schema.GroupResource{Group: "apps", Resource: "replicasets"}, ""
	case "apps/deployments":
		return schema.GroupResource{Group: "apps", Resource: "deployments"}, ""
	}
	r, sub, _ := strings.Cut(s, "/")
	return schema.GroupResource{Resource: r}, sub
}

func defaultRules(mend func(*configv1alpha1.DeletionConfiguration)) Rules {
	c := configv1alpha1.DeletionConfiguration{
		Mode:   configv1alpha1.ModeEnforce,
		Labels: configv1alpha1.DeletionLabels{Karmada: configv1alpha1.LabelOpen, Kruise: configv1alpha1.LabelOpen},
	}
	if mend != nil {
		mend(&c)
	}
	return NewRules(c)
}

// summary writes a verdict as "rule key" lines, with "(warn)" where it only warns.
func summary(v Verdict) string {
	var out []string
	for _, f := range v {
		s := string(f.Rule) + " " + f.Key.Name
		if f.WarnOnly {
			s += " (warn)"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestDecide_onDelete(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		resource string
		old      *metav1.PartialObjectMetadata
		user     string
		rules    func(*configv1alpha1.DeletionConfiguration)
		want     string
	}{
		{name: "an object without a label goes", old: object()},
		{name: "the strict label refuses", old: object(strict + "=Always"), want: "delete holdfast"},
		{name: "Karmada's label refuses", old: object(karmada + "=Always"), want: "delete karmada"},
		{name: "OpenKruise's label refuses", old: object(kruise + "=Always"), want: "delete kruise"},
		{name: "each label speaks for itself", old: object(strict+"=Always", karmada+"=Always"), want: "delete holdfast, delete karmada"},
		{name: "an empty strict label does not protect", old: object(strict + "=")},
		{name: "an empty Karmada label does not protect", old: object(karmada + "=")},
		{name: "an unknown value protects on the strict label", old: object(strict + "=always"), want: "delete holdfast"},
		{name: "an unknown value does not protect on an upstream label, as upstream", old: object(karmada+"=always", kruise+"=x")},
		{name: "a terminating object is let go", old: object(strict+"=Always", "terminating")},
		{name: "cluster-admin may not delete either", old: object(strict + "=Always"), user: "system:admin", want: "delete holdfast"},
		{name: "the garbage collector may not delete what no controller makes", resource: "configmaps", old: object(strict+"=Always", "controller:a"), user: gc, want: "delete holdfast"},
		{name: "the garbage collector may delete a pod that a controller owns", resource: "pods", old: object(strict+"=Always", "controller:a"), user: gc},
		{name: "the garbage collector may not delete a pod that stands alone", resource: "pods", old: object(strict + "=Always"), user: gc, want: "delete holdfast"},
		{name: "the garbage collector may not delete a pod whose owner is not its controller", resource: "pods", old: object(strict+"=Always", "owner:a"), user: gc, want: "delete holdfast"},
		{name: "the scheduler makes room by a pod that stands alone", resource: "pods", old: object(strict + "=Always"), user: "system:kube-scheduler"},
		{name: "the scheduler deletes nothing else", resource: "configmaps", old: object(strict + "=Always"), user: "system:kube-scheduler", want: "delete holdfast"},
		{name: "a pod of a node that is gone goes, also if it stands alone", resource: "pods", old: object(karmada + "=Always"), user: "system:serviceaccount:kube-system:pod-garbage-collector"},
		{name: "a person may not delete a pod that a controller owns", resource: "pods", old: object(strict+"=Always", "controller:a"), user: person, want: "delete holdfast"},
		{name: "the deployment controller may delete an old ReplicaSet", resource: "apps/replicasets", old: object(karmada+"=Always", "controller:a"), user: "system:serviceaccount:kube-system:deployment-controller"},
		{name: "kube-controller-manager without separate credentials may too", resource: "apps/replicasets", old: object(karmada+"=Always", "controller:a"), user: "system:kube-controller-manager"},
		{name: "no controller may delete a Deployment", resource: "apps/deployments", old: object(strict+"=Always", "controller:a"), user: gc, want: "delete holdfast"},
		{name: "the endpoint controller may delete Endpoints that it made, which have no owner", resource: "endpoints", old: object(strict+"=Always", made), user: "system:serviceaccount:kube-system:endpoint-controller"},
		{name: "the endpoint controller may not delete Endpoints that a person made", resource: "endpoints", old: object(strict + "=Always"), user: "system:serviceaccount:kube-system:endpoint-controller", want: "delete holdfast"},
		{name: "a kubelet may delete a mirror pod", resource: "pods", old: object(strict+"=Always", "controller:node"), user: "system:node:n1"},
		{name: "a kubelet may delete nothing else", resource: "apps/replicasets", old: object(strict+"=Always", "controller:a"), user: "system:node:n1", want: "delete holdfast"},
		{
			name: "a third-party controller may delete once it is named", resource: "pods", old: object(kruise+"=Always", "controller:a"),
			user: "system:serviceaccount:kruise-system:kruise-manager",
			rules: func(c *configv1alpha1.DeletionConfiguration) {
				c.WorkloadControllers = []string{"system:serviceaccount:kruise-system:kruise-manager"}
			},
		},
		{
			name: "a third-party controller that is not named may not", resource: "pods", old: object(kruise+"=Always", "controller:a"),
			user: "system:serviceaccount:kruise-system:kruise-manager", want: "delete kruise",
		},
		{
			name: "an upstream label that is ignored does not protect", old: object(karmada + "=Always"),
			rules: func(c *configv1alpha1.DeletionConfiguration) { c.Labels.Karmada = configv1alpha1.LabelIgnored },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			gr, _ := resource(tt.resource)
			if tt.resource == "" {
				gr, _ = resource("configmaps")
			}
			got := defaultRules(tt.rules).Decide(Request{Operation: admissionv1.Delete, Resource: gr, Namespace: "shop", OldObject: tt.old, User: tt.user})
			if diff := cmp.Diff(tt.want, summary(got)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecide_onUpdate(t *testing.T) {
	t.Parallel()
	strictKarmada := func(c *configv1alpha1.DeletionConfiguration) { c.Labels.Karmada = configv1alpha1.LabelStrict }
	tests := []struct {
		name     string
		resource string
		old, new *metav1.PartialObjectMetadata
		user     string
		may      bool
		rules    func(*configv1alpha1.DeletionConfiguration)
		want     string
	}{
		{name: "anything else may change", old: object(strict+"=Always", "a=1"), new: object(strict+"=Always", "a=2")},
		{name: "the strict label cannot be taken away", old: object(strict + "=Always"), new: object(), want: "unprotect holdfast"},
		{name: "the strict label cannot be emptied", old: object(strict + "=Always"), new: object(strict + "="), want: "unprotect holdfast"},
		{name: "the strict label cannot be changed to a value that means nothing", old: object(strict + "=Always"), new: object(strict + "=x"), want: "unprotect holdfast, value holdfast"},
		{name: "with the right it can be taken away", old: object(strict + "=Always"), new: object(), may: true},
		{name: "the right does not make a meaningless value good", old: object(strict + "=Always"), new: object(strict + "=x"), may: true, want: "value holdfast"},
		{name: "an unknown value can be mended by anyone", old: object(strict + "=always"), new: object(strict + "=Always")},
		{name: "an unknown value cannot be taken away", old: object(strict + "=always"), new: object(), want: "unprotect holdfast"},
		{name: "an unknown value that stands is warned of", old: object(strict + "=always"), new: object(strict+"=always", "a=2"), want: "value-stands holdfast (warn)"},
		{name: "an unknown value cannot be set", old: object(), new: object(strict + "=always"), want: "value holdfast"},
		{name: "an empty label may be taken away", old: object(strict + "="), new: object()},
		{name: "anyone may protect", old: object(), new: object(strict + "=Always")},
		{name: "a label comes too late on an object that is being deleted", old: object("terminating"), new: object(strict+"=Always", karmada+"=Always", kruise+"=Always", "terminating"), want: "too-late holdfast (warn), too-late karmada (warn), too-late kruise (warn)"},
		{name: "a label that stands there is not warned of", old: object(strict+"=Always", "terminating"), new: object(strict+"=Always", "a=2", "terminating")},
		{name: "a label that does not protect is not too late", old: object("terminating"), new: object(strict+"=", "terminating")},
		{name: "a terminating object may lose its label", old: object(strict+"=Always", "terminating"), new: object("terminating")},
		{name: "an upstream label may be taken away by whoever may edit", old: object(karmada+"=Always", kruise+"=Always"), new: object()},
		{name: "an upstream label made strict may not", old: object(karmada + "=Always"), new: object(), rules: strictKarmada, want: "unprotect karmada"},
		{name: "an upstream label made strict protects only as upstream", old: object(karmada + "=always"), new: object(), rules: strictKarmada},
		{name: "status is a way to take the label away too", resource: "namespaces/status", old: object(strict + "=Always"), new: object(), want: "unprotect holdfast"},
		{name: "finalize is a way to take the label away too", resource: "namespaces/finalize", old: object(strict + "=Always"), new: object(), want: "unprotect holdfast"},
		{name: "a value set through status is not looked at", resource: "namespaces/status", old: object(), new: object(strict + "=x")},

		{name: "a protected pod gains no owner", resource: "pods", old: object(strict + "=Always"), new: object(strict+"=Always", "owner:a"), want: "own holdfast"},
		{name: "a protected pod's owner does not become its controller", resource: "pods", old: object(strict+"=Always", "owner:a"), new: object(strict+"=Always", "controller:a"), want: "own holdfast"},
		{name: "a protected pod may lose an owner", resource: "pods", old: object(strict+"=Always", "controller:a", "owner:b"), new: object(strict+"=Always", "controller:a")},
		{name: "a controller adopts a protected pod", resource: "pods", old: object(strict + "=Always"), new: object(strict+"=Always", "controller:a"), user: "system:serviceaccount:kube-system:replicaset-controller"},
		{name: "with the right a protected pod gains an owner", resource: "pods", old: object(strict + "=Always"), new: object(strict+"=Always", "controller:a"), may: true},
		{name: "where the garbage collector may not delete, owners are free", resource: "configmaps", old: object(strict + "=Always"), new: object(strict+"=Always", "owner:a")},
		{name: "a protected ConfigMap gains no controller, whose operator could delete it", resource: "configmaps", old: object(strict + "=Always"), new: object(strict+"=Always", "controller:a"), want: "control holdfast"},
		{name: "nor does its owner become its controller", resource: "secrets", old: object(strict+"=Always", "owner:a"), new: object(strict+"=Always", "controller:a"), want: "control holdfast"},
		{name: "nor does another controller take it over", resource: "secrets", old: object(strict+"=Always", "controller:a/x"), new: object(strict+"=Always", "controller:a/y"), want: "control holdfast"},
		{name: "its controller may be restored, with another UID", resource: "secrets", old: object(strict+"=Always", "controller:a/x"), new: object(strict+"=Always", "controller:b/x")},
		{name: "it may lose its controller", resource: "secrets", old: object(strict+"=Always", "controller:a/x"), new: object(strict + "=Always")},
		{name: "of data, which no operator deletes, controllers are free", resource: "persistentvolumeclaims", old: object(strict + "=Always"), new: object(strict+"=Always", "controller:a")},
		{name: "a controller of the cluster names a controller", resource: "configmaps", old: object(strict + "=Always"), new: object(strict+"=Always", "controller:a"), user: gc},
		{name: "with the right a protected ConfigMap gains a controller", resource: "configmaps", old: object(strict + "=Always"), new: object(strict+"=Always", "controller:a"), may: true},
		{name: "what a protection selects gains no controller", resource: "configmaps", old: object(v1alpha1.ProtectedByMark + "=one"), new: object(v1alpha1.ProtectedByMark+"=one", "controller:a"), want: "control protection"},
		{name: "what a protection selects and no operator deletes may gain one", resource: "secrets", old: object(v1alpha1.ProtectedByMark + "=one"), new: object(v1alpha1.ProtectedByMark+"=one", "controller:a")},
		{name: "under an open upstream label owners are free, as the label is", resource: "pods", old: object(karmada + "=Always"), new: object(karmada+"=Always", "controller:a")},

		{name: "the endpoint controller takes the label off Endpoints when the Service lost it", resource: "endpoints", old: object(strict+"=Always", made), new: object(made), user: "system:serviceaccount:kube-system:endpoint-controller"},
		{name: "a person does not", resource: "endpoints", old: object(strict+"=Always", made), new: object(made), user: person, want: "unprotect holdfast"},
		{name: "a person does not pass Endpoints off as made", resource: "endpoints", old: object(strict + "=Always"), new: object(strict+"=Always", made), user: person, want: "own holdfast"},
		{name: "a protected pod's owner cannot be renamed", resource: "pods", old: object(strict+"=Always", "controller:a"), new: object(strict+"=Always", "controller:a/other"), want: "own holdfast"},
		{name: "a template's bad value is only warned of", resource: "pods", old: object("controller:a"), new: object("controller:a", karmada+"=yes"), want: "value-stands karmada (warn)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.resource == "" {
				tt.resource = "configmaps"
			}
			gr, sub := resource(tt.resource)
			got := defaultRules(tt.rules).Decide(Request{
				Operation: admissionv1.Update, Resource: gr, SubResource: sub, Namespace: "shop",
				OldObject: tt.old, Object: tt.new, User: tt.user, MayUnprotect: tt.may,
			})
			if diff := cmp.Diff(tt.want, summary(got)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecide_onCreate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		resource string
		object   *metav1.PartialObjectMetadata
		may      bool
		want     string
	}{
		{name: "an object may be born protected", resource: "configmaps", object: object(strict + "=Always")},
		{name: "an object may be born with an empty label", resource: "configmaps", object: object(strict + "=")},
		{name: "an unknown value is refused", resource: "configmaps", object: object(strict + "=always"), want: "value holdfast"},
		{name: "an unknown value is refused on the upstream labels too, and one that means something there is warned of", resource: "configmaps", object: object(karmada+"=true", kruise+"=Cascading"), want: "value karmada, value-stands kruise (warn)"},
		{name: "an unknown value from a template is warned of", resource: "pods", object: object(strict+"=always", "controller:a"), want: "value-stands holdfast (warn)"},
		{name: "a binding may not empty the label", resource: "pods/binding", object: object(strict + "="), want: "bind holdfast"},
		{name: "a binding may not change the label", resource: "pods/binding", object: object(strict + "=x"), want: "bind holdfast"},
		{name: "a binding may not change the label through the old path", resource: "bindings", object: object(strict + "="), want: "bind holdfast"},
		{name: "a binding may protect", resource: "pods/binding", object: object(strict + "=Always")},
		{name: "a binding overwrites no label by which a protection may select the pod", resource: "pods/binding", object: object("a=1"), want: "bind protection"},
		{name: "a binding overwrites none through the old path", resource: "bindings", object: object("a=1"), want: "bind protection"},
		{name: "with the right a binding may overwrite any label", resource: "pods/binding", object: object("a=1"), may: true},
		{name: "a binding may have the topology of its node", resource: "pods/binding", object: object("topology.kubernetes.io/zone=a", "topology.k8s.io/region=b")},
		{name: "a binding without a label is free", resource: "pods/binding", object: object()},
		{name: "with the right a binding may empty the label", resource: "pods/binding", object: object(strict + "="), may: true},
		{name: "another binding subresource is not a pod's", resource: "widgets/binding", object: object(strict + "=")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			gr, sub := resource(tt.resource)
			got := defaultRules(nil).Decide(Request{
				Operation: admissionv1.Create, Resource: gr, SubResource: sub, Namespace: "shop", Object: tt.object, User: person, MayUnprotect: tt.may,
			})
			if diff := cmp.Diff(tt.want, summary(got)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecide_messages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		old  *metav1.PartialObjectMetadata
		want string
	}{
		{
			name: "the strict label names the object and the way out", old: object(strict + "=Always"),
			want: "deployments.apps/web is protected from deletion by the label holdfast.dev/deletion-protected. " +
				"Whoever holds the right to unprotect it can run: kubectl label deployments.apps/web -n shop holdfast.dev/deletion-protected-",
		},
		{
			name: "Karmada's label keeps Karmada's text", old: object(karmada + "=Always"),
			want: "This resource is protected, please make sure to remove the label: resourcetemplate.karmada.io/deletion-protected",
		},
		{
			name: "OpenKruise's label names plain kubectl", old: object(kruise + "=Always"),
			want: "deployments.apps/web is protected from deletion by the label policy.kruise.io/delete-protection. " +
				"Take the label away first: kubectl label deployments.apps/web -n shop policy.kruise.io/delete-protection-",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := defaultRules(nil).Decide(Request{
				Operation: admissionv1.Delete, Resource: schema.GroupResource{Group: "apps", Resource: "deployments"}, OldObject: tt.old,
			})
			if len(got) != 1 {
				t.Fatalf("got %d findings, want 1", len(got))
			}
			if diff := cmp.Diff(tt.want, got[0].Message); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}
