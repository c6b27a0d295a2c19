// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// desk writes what is decided about one account to the real API server.
type desk struct {
	*testing.T
	plan.Facts
	client client.Client
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	env := testkit.Shared(t)
	return &desk{t, plan.Facts{
		NamespacedName: types.NamespacedName{Namespace: env.Namespace(t), Name: "acme-front"}, Patching: true,
		Existing: configv1alpha1.ExistingApply, Operators: sets.New[string](), GivenUp: sets.New[plan.Key](),
	}, env.Client}
}

func (d *desk) want(labels, annotations map[string]string, change ...func(*mapping.Want)) {
	w := mapping.Want{Mapping: "shops", Account: "front", Name: d.Facts.Name, Enabled: true, Labels: labels, Annotations: annotations}
	w.Source = mapping.Source{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		NamespacedName:   types.NamespacedName{Namespace: d.Namespace, Name: "acme"}, UID: d.object().UID,
	}
	w.OwnerReference = &metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "acme", UID: w.Source.UID, BlockOwnerDeletion: new(true), Controller: new(false)}
	for _, c := range change {
		c(&w)
	}
	d.Wants = []mapping.Want{w}
}

// object is the object that the account belongs to.
func (d *desk) object() *corev1.ConfigMap {
	d.Helper()
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "acme"}}
	if err := d.client.Create(d.Context(), o); apierrors.IsAlreadyExists(err) {
		err = d.client.Get(d.Context(), client.ObjectKeyFromObject(o), o)
		if err != nil {
			d.Fatal(err)
		}
	} else if err != nil {
		d.Fatal(err)
	}
	return o
}

func (d *desk) account() *corev1.ServiceAccount {
	d.Helper()
	out := &corev1.ServiceAccount{}
	if err := d.client.Get(d.Context(), d.NamespacedName, out); err != nil {
		d.Fatal(err)
	}
	return out
}

func (d *desk) look() {
	d.Helper()
	d.Live = &metav1.PartialObjectMetadata{}
	d.Live.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	err := d.client.Get(d.Context(), d.NamespacedName, d.Live)
	if apierrors.IsNotFound(err) {
		d.Live = nil
	} else if err != nil {
		d.Fatal(err)
	}
}

func (d *desk) do(a plan.Action) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Facts.Name}}
	owner := client.FieldOwner(plan.FieldManager)
	switch a.Do {
	case plan.Create:
		return d.client.Create(d.Context(), a.Object, owner)
	case plan.Apply, plan.Release:
		options := []client.ApplyOption{owner}
		if a.Force {
			options = append(options, client.ForceOwnership)
		}
		return d.client.Apply(d.Context(), client.ApplyConfigurationFromUnstructured(a.Object), options...)
	case plan.Delete:
		return d.client.Delete(d.Context(), account, client.Preconditions(*a.Preconditions))
	default:
		return d.client.Patch(d.Context(), account, client.RawPatch(types.MergePatchType, a.Patch), owner)
	}
}

// settles does what is decided until nothing is left to do.
func (d *desk) settles(want ...plan.Do) {
	d.Helper()
	var did []plan.Do
	for range 5 {
		d.look()
		v := plan.Decide(d.Facts)
		if !v.Pending() {
			break
		}
		did = append(did, v.Action.Do)
		if err := d.do(v.Action); err != nil {
			d.Fatalf("%v: %v", did, err)
		}
	}
	if diff := cmp.Diff(want, did); diff != "" {
		d.Fatalf("writes (-want +got):\n%s", diff)
	}
}

// has compares labels and annotations, the latter with @ before the key.
func (d *desk) has(want ...string) {
	d.Helper()
	account := d.account()
	var got []string
	for k, v := range account.Labels {
		got = append(got, k+"="+v)
	}
	for k, v := range account.Annotations {
		got = append(got, "@"+k+"="+v)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		d.Errorf("account (-want +got):\n%s", diff)
	}
}

func (d *desk) applyAs(manager string, labels map[string]string) {
	d.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	o.SetNamespace(d.Namespace)
	o.SetName(d.Facts.Name)
	o.SetLabels(labels)
	if err := d.client.Apply(d.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(manager), client.ForceOwnership); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) updateAs(manager string, change func(*corev1.ServiceAccount)) {
	d.Helper()
	account := d.account()
	change(account)
	if err := d.client.Update(d.Context(), account, client.FieldOwner(manager)); err != nil {
		d.Fatal(err)
	}
}

type keys = map[string]string

func TestWrites_ofAnAccountThatHoldfastMakes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.want(keys{"a": "1", "b": "1"}, keys{"c": "1"})
	d.settles(plan.Create)
	made := d.account()
	d.settles()
	d.updateAs("kubectl", func(a *corev1.ServiceAccount) {
		a.Labels["team"] = "x"
		a.Secrets = []corev1.ObjectReference{{Name: "token"}}
		a.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	})
	d.settles()

	d.want(keys{"a": "2"}, keys{"c": "1", "d": "1"})
	d.settles(plan.TakeOver, plan.Apply)
	d.has("@c=1", "@d=1", "a=2", "team=x")
	d.want(keys{"a": "3"}, nil)
	d.settles(plan.Apply)
	d.has("a=3", "team=x")
	now := d.account()
	if now.UID != made.UID || len(now.OwnerReferences) != 1 || len(now.Secrets) != 1 || len(now.ImagePullSecrets) != 1 {
		t.Errorf("it lost what it had: %+v", now)
	}

	d.want(nil, nil, func(w *mapping.Want) { w.Enabled = false })
	d.settles(plan.Delete)
	d.look()
	if d.Live != nil && d.Live.DeletionTimestamp == nil {
		t.Error("it is still there")
	}
}

func TestWrites_ofAnAccountThatPeopleMade(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	made := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Facts.Name, Labels: keys{"team": "x", "a": "9"}, Annotations: keys{"note": "y"}}}
	if err := d.client.Create(t.Context(), made, client.FieldOwner("kubectl-create")); err != nil {
		t.Fatal(err)
	}
	d.want(keys{"a": "1", "b": "1"}, keys{"c": "1"})
	d.Patching = false
	d.settles()
	d.Patching = true
	d.settles(plan.Apply)
	d.has("@c=1", "@note=y", "a=9", "b=1", "team=x")
	if got := d.account().OwnerReferences; len(got) > 0 {
		t.Errorf("it is owned: %v", got)
	}
	d.Patching = false
	d.settles()
	d.Patching = true
	d.settles()
	d.want(nil, nil, func(w *mapping.Want) { w.Enabled = false })
	d.settles(plan.Release)
	d.has("@note=y", "a=9", "team=x")
	d.settles()
	if got := d.account(); got.UID != made.UID {
		t.Error("it was made anew")
	}
}

func TestWrites_ofATakeOver(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	former := func(w *mapping.Want) { w.TakeOver = []string{"strimzi-kafka-operator", "fabric8"} }
	d.applyAs("strimzi-kafka-operator", keys{"a": "1", "old": "1"})
	d.updateAs("fabric8", func(a *corev1.ServiceAccount) { a.Labels["b"], a.Labels["theirs"] = "1", "1" })
	d.updateAs("kubectl-edit", func(a *corev1.ServiceAccount) { a.Labels["team"] = "x" })

	d.want(keys{"a": "1", "b": "2"}, nil, former)
	d.Operators.Insert("strimzi-kafka-operator")
	d.look()
	if v := plan.Decide(d.Facts); len(v.Report.Changes) == 0 || !v.Report.Adopted {
		t.Errorf("report %+v", v.Report)
	}
	d.Operators.Delete("strimzi-kafka-operator")
	d.settles(plan.TakeOver, plan.Apply)
	d.has("a=1", "b=2", "team=x", "theirs=1")
	d.want(keys{"a": "1"}, nil, former)
	d.settles(plan.Apply)
	d.has("a=1", "team=x", "theirs=1")
	d.applyAs("strimzi-kafka-operator", keys{"a": "2"})
	d.settles(plan.TakeOver, plan.Apply)
	d.has("a=1", "team=x", "theirs=1")
}

func TestWrites_byForce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.applyAs("another-operator", keys{"a": "9", "x": "1"})
	d.want(keys{"a": "1"}, nil)
	d.settles()
	d.Wants = forced(t, d.Wants)
	d.look()
	v := plan.Decide(d.Facts)
	d.updateAs("kubectl", func(a *corev1.ServiceAccount) { a.Labels["y"] = "1" })
	if err := d.do(v.Action); !apierrors.IsConflict(err) {
		t.Errorf("an account that has changed is forced: %v", err)
	}
	d.settles(plan.Apply)
	d.has("a=1", "x=1", "y=1")
}

func TestWrites_toAnAccountThatDoesNotTellWhoseItsFieldsAre(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.applyAs("kubectl", keys{"a": "9", "b": "1"})
	if err := d.client.Patch(t.Context(), d.account(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))); err != nil {
		t.Fatal(err)
	}
	if got := d.account().ManagedFields; len(got) > 0 {
		t.Fatalf("it tells: %v", got)
	}
	d.want(keys{"a": "1", "b": "1", "c": "1"}, nil)
	d.settles(plan.Apply)
	d.has("a=9", "b=1", "c=1")
	d.Wants = forced(t, d.Wants)
	d.settles(plan.Apply)
	d.has("a=1", "b=1", "c=1")
}

func TestWrites_ofAReplacement(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const pull = "openshift.io/internal-registry-pull-secret-ref"
	made := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Facts.Name, Labels: keys{"team": "x"}, Annotations: keys{pull: "s", "note": "y"}},
		Secrets:    []corev1.ObjectReference{{Name: "a"}, {Name: "b"}}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "c"}, {Name: "d"}},
		AutomountServiceAccountToken: new(false),
	}
	if err := d.client.Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	d.Existing = configv1alpha1.ExistingReplace
	d.want(keys{"a": "1"}, keys{"b": "1"})
	d.settles(plan.Replace)
	d.has("@b=1", "@"+pull+"=s", "a=1")
	got := d.account()
	if len(got.Secrets) != 2 || len(got.ImagePullSecrets) != 2 || got.AutomountServiceAccountToken != nil || got.UID != made.UID {
		t.Errorf("got %+v", got)
	}
	d.settles()
	d.Existing = configv1alpha1.ExistingApply
	d.want(keys{"a": "1"}, nil)
	d.settles(plan.TakeOver, plan.Apply)
	d.has("@"+pull+"=s", "a=1")
}

func TestWrites_toAnotherAccountOfTheName(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.applyAs("kubectl", keys{"x": "1"})
	d.want(keys{"a": "1"}, nil)
	d.look()
	v := plan.Decide(d.Facts)
	if err := d.client.Delete(t.Context(), d.account()); err != nil {
		t.Fatal(err)
	}
	if err := d.do(v.Action); !apierrors.IsConflict(err) {
		t.Errorf("an account that has gone is made: %v", err)
	}
	d.applyAs("kubectl", keys{"y": "1"})
	if err := d.do(v.Action); err == nil || !strings.Contains(err.Error(), "uid") {
		t.Errorf("another account is written: %v", err)
	}
	d.has("y=1")
}

// forced are wants whose conflicts are settled by force.
func forced(t *testing.T, wants []mapping.Want) []mapping.Want {
	t.Helper()
	template := &v1alpha1.ServiceAccountTemplate{Spec: v1alpha1.ServiceAccountTemplateSpec{
		Source:   v1alpha1.TemplateSource{Group: "example.com", Kind: "Shop"},
		Accounts: []v1alpha1.AccountTemplate{{ID: "a", Name: "a", Conflicts: v1alpha1.AccountConflicts{Default: v1alpha1.ConflictForce}}},
	}}
	m, problems := mapping.Compile(template)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetNamespace("team")
	out := slices.Clone(wants)
	for i := range out {
		out[i].Conflicts = m.Wants(o)[0].Conflicts
	}
	return out
}
