// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestOverride_whatIsRefusedWhenItIsAskedFor(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	mine, other := e.Namespace(t), e.Namespace(t)
	user, nobody := "asker-"+mine, "nobody-"+mine
	c := asker(t, e, mine, user)
	e.Grant(t, "", nobody, testkit.Rule(v1alpha1.GroupName, []string{"deletionoverrides"}, "create"))
	everything(t, e, nobody)
	cm, foreign := configMap(t, e, mine, "x", strict+"=Always"), configMap(t, e, other, "x", strict+"=Always")
	namespace := &corev1.Namespace{}
	if err := e.Client.Get(t.Context(), client.ObjectKey{Name: mine}, namespace); err != nil {
		t.Fatal(err)
	}
	const noRight = `to ask for an override needs the RBAC verb "unprotect" on resourcedeletionprotections.holdfast.dev in the namespace of the target, or cluster-wide for a target without one`
	tests := []struct {
		name   string
		as     client.Client
		target client.Object
		change func(*v1alpha1.DeletionOverrideSpec)
		want   string
	}{
		{name: "in the name of somebody else", change: func(s *v1alpha1.DeletionOverrideSpec) { s.RequestedBy = "alice" }, want: "spec.requestedBy must be the name of whoever asks: " + user},
		{name: "in nobody's name", change: func(s *v1alpha1.DeletionOverrideSpec) { s.RequestedBy = "" }, want: "spec.requestedBy: Required value"},
		{name: "for too long", change: func(s *v1alpha1.DeletionOverrideSpec) { s.Duration = "61m" }, want: "spec.duration may be at most 1h"},
		{name: "for longer than any configuration lets", change: func(s *v1alpha1.DeletionOverrideSpec) { s.Duration = "25h" }, want: "a duration is between 1s and 24h"},
		{name: "for no time", change: func(s *v1alpha1.DeletionOverrideSpec) { s.Duration = "0s" }, want: "a duration is between 1s and 24h"},
		{name: "for a time that is none", change: func(s *v1alpha1.DeletionOverrideSpec) { s.Duration = "soon" }, want: "spec.duration: Invalid value"},
		{name: "without a reason", change: func(s *v1alpha1.DeletionOverrideSpec) { s.Reason = "" }, want: "spec.reason: Required value"},
		{name: "with one's own consent", change: func(s *v1alpha1.DeletionOverrideSpec) { s.ApprovedBy = user }, want: "spec.approvedBy is set by whoever consents, once the override is there"},
		{name: "with somebody's consent", change: func(s *v1alpha1.DeletionOverrideSpec) { s.ApprovedBy = "alice" }, want: "spec.approvedBy is set by whoever consents, once the override is there"},
		{name: "with the contents of what has none", change: func(s *v1alpha1.DeletionOverrideSpec) { s.IncludeContents = true }, want: "only a Namespace and a CustomResourceDefinition have contents"},
		{name: "with no uid", change: func(s *v1alpha1.DeletionOverrideSpec) { s.Target.UID = "" }, want: "spec.target.uid: Required value"},
		{name: "by somebody who may not unprotect", as: e.As(t, nobody), change: func(s *v1alpha1.DeletionOverrideSpec) { s.RequestedBy = nobody }, want: noRight},
		{name: "in a namespace where one may not unprotect", target: foreign, want: noRight},
		{name: "of the Namespace where one may unprotect", target: namespace, want: noRight},
	}
	for _, tt := range tests {
		if tt.as == nil {
			tt.as = c
		}
		if tt.target == nil {
			tt.target = cm
		}
		o := overrideOf(t, e, "refused", user, tt.target)
		if tt.change != nil {
			tt.change(&o.Spec)
		}
		if err := tt.as.Create(t.Context(), o, client.DryRunAll); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want it to say %q", tt.name, err, tt.want)
		}
	}
	if err := c.Create(t.Context(), overrideOf(t, e, strings.Repeat("a", 64), user, cm), client.DryRunAll); !apierrors.IsInvalid(err) {
		t.Errorf("a name that no label value can be: got %v", err)
	}
	if err := c.Create(t.Context(), overrideOf(t, e, "accepted", user, cm), client.DryRunAll); err != nil {
		t.Errorf("without a mistake: %v", err)
	}
}

func TestOverride_cannotBeChanged(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	user := "asker-" + ns
	c := asker(t, e, ns, user)
	cm := configMap(t, e, ns, "x", strict+"=Always")
	o := overrideOf(t, e, ns, user, cm)
	end := ask(t, e, c, o)
	defer end()
	gomega.NewWithT(t).Eventually(phase(t, e, ns), "180s", "50ms").Should(gomega.Equal(v1alpha1.OverrideActive))

	const unchangeable = "an override cannot be changed, only approved; ask for another one"
	consent := func(name string) string { return `{"spec":{"approvedBy":"` + name + `"}}` }
	second := asker(t, e, ns, "second-"+ns)
	admin := e.Client
	tests := []struct {
		name, patch, subresource string
		as                       client.Client
		want                     string
	}{
		{name: "the target", patch: `{"spec":{"target":{"name":"y"}}}`, as: c, want: unchangeable},
		{name: "the uid", patch: `{"spec":{"target":{"uid":"y"}}}`, as: admin, want: unchangeable},
		{name: "the reason", patch: `{"spec":{"reason":"y"}}`, as: admin, want: unchangeable},
		{name: "the duration", patch: `{"spec":{"duration":"59m"}}`, as: admin, want: unchangeable},
		{name: "the requester", patch: `{"spec":{"requestedBy":"y"}}`, as: admin, want: unchangeable},
		{name: "the contents", patch: `{"spec":{"includeContents":true}}`, as: admin, want: unchangeable},
		{name: "one's own consent", patch: consent(user), as: c, want: "whoever asks for an override cannot consent to it; a second person must"},
		{name: "another one's consent", patch: consent("alice"), as: c, want: "spec.approvedBy must be the name of whoever consents: " + user},
		{name: "the status by whoever asks", patch: `{"status":{"phase":"Active"}}`, subresource: "status", as: c, want: "is forbidden"},
		{name: "the status by an administrator", patch: `{"status":{"expiresAt":"2100-01-01T00:00:00Z"}}`, subresource: "status", as: admin, want: "the status of an override is written by Holdfast alone"},
	}
	for _, tt := range tests {
		patch, copied := client.RawPatch(types.MergePatchType, []byte(tt.patch)), o.DeepCopy()
		var err error
		if tt.subresource == "" {
			err = tt.as.Patch(t.Context(), copied, patch)
		} else {
			err = tt.as.SubResource(tt.subresource).Patch(t.Context(), copied, patch)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want it to say %q", tt.name, err, tt.want)
		}
	}
	// A consent that nobody asked for is one all the same, and stands.
	if err := second.Patch(t.Context(), o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(consent("second-"+ns)))); err != nil {
		t.Fatalf("a second person consents: %v", err)
	}
	third := asker(t, e, ns, "third-"+ns)
	for name, patch := range map[string]string{"replaced": consent("third-" + ns), "taken back": `{"spec":{"approvedBy":null}}`} {
		if err := third.Patch(t.Context(), o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err == nil ||
			!strings.Contains(err.Error(), "a consent cannot be changed or taken back; delete the override instead") &&
				!strings.Contains(err.Error(), "spec.approvedBy must be the name of whoever consents") {
			t.Errorf("a consent that is %s: got %v", name, err)
		}
	}
}

// The stamp is what lets an object go, so nobody but Holdfast may write it.
func TestOverride_stampCannotBeFaked(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	cm := configMap(t, e, ns, "x", strict+"=Always")
	for _, key := range []string{v1alpha1.OverrideMark, v1alpha1.OverrideContentsMark} {
		for _, o := range []client.Object{cm, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}} {
			if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				t.Fatal(err)
			}
			err := e.Client.Patch(t.Context(), o, mergeLabels(map[string]any{key: "mine", v1alpha1.MarkedLabel: o.GetUID()}))
			if got := v1alpha1.MarkOf(o, key); err != nil || got != "" {
				t.Errorf("%s on %s: got %v and the value %q, want none", key, o.GetName(), err, got)
			}
			if err := e.Client.Delete(t.Context(), o.DeepCopyObject().(client.Object), client.DryRunAll); !apierrors.IsForbidden(err) {
				t.Errorf("delete %s after %s: got %v, want a 403", o.GetName(), key, err)
			}
		}
		born := configMap(t, e, ns, "born-"+key[strings.Index(key, "/")+1:], strict+"=Always", key+"=mine", v1alpha1.MarkedLabel+"=true")
		if err := e.Client.Delete(t.Context(), born); !apierrors.IsForbidden(err) {
			t.Errorf("an object born with %s: got %v, want a 403", key, err)
		}
	}
}
