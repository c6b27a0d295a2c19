// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

// TestSettings_After_findsAllThatMatch walks from each verdict to what would
// decide without it.
func TestSettings_After_findsAllThatMatch(t *testing.T) {
	t.Parallel()
	c := configv1alpha1.HoldfastConfiguration{Eviction: configv1alpha1.EvictionConfiguration{ProtectedPods: configv1alpha1.ProtectedPodsRefused}}
	configv1alpha1.SetDefaults(&c)
	s := policy.NewSettings(c.Eviction, []*policy.Policy{
		denying(t, "first", "Kafka"), denying(t, "other", "none"), denying(t, "second", "Kafka"),
	})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kafka", Name: "my-cluster-kafka-0", Labels: map[string]string{"strimzi.io/kind": "Kafka", "strimzi.io/name": "my-cluster-kafka"},
	}}
	protected := "by a label"
	f := policy.Facts{
		Request: policy.Request{Namespace: "kafka", Name: pod.Name}, Meta: &pod.ObjectMeta, Pod: pod, Protection: &protected, Now: time.Unix(0, 0),
	}
	var got []string
	v := policy.Decide(s, f)
	for ok := true; ok; {
		switch {
		case v.DrainCleaner:
			got = append(got, "drain cleaner")
		default:
			got = append(got, string(v.Outcome)+" "+v.Policy)
		}
		if s, ok = s.After(v); ok {
			v = policy.Decide(s, f)
		}
	}
	if diff := cmp.Diff([]string{"protected ", "held first", "held second", "drain cleaner"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPolicy_Bound_isThatOfTheSpec(t *testing.T) {
	t.Parallel()
	p := denying(t, "first", "Kafka")
	want := policy.Bound{Deadline: 30 * time.Minute, Then: v1alpha1.OverdueAllow}
	if diff := cmp.Diff(want, p.Bound()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s := policy.Settings{Policies: []*policy.Policy{p}}
	if s.Policy("first") != p || s.Policy("second") != nil {
		t.Error("a policy is not found by its name")
	}
}

// denying makes a policy that holds pods whose label strimzi.io/kind has a value.
func denying(t *testing.T, name, kind string) *policy.Policy {
	t.Helper()
	p, problems := policy.Compile(&v1alpha1.EvictionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.EvictionPolicySpec{
			Match:    v1alpha1.EvictionMatch{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"strimzi.io/kind": kind}}},
			Verdict:  v1alpha1.EvictionVerdict{Type: v1alpha1.VerdictTypeDeny, Message: "stay"},
			Deadline: &v1alpha1.EvictionDeadline{After: metav1.Duration{Duration: 30 * time.Minute}},
		},
	})
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	return p
}
