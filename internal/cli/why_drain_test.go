// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// onNode are the facts about a node with these pods, where Holdfast is asked.
func onNode(r evictionRules, budgets []policyv1.PodDisruptionBudget, pods ...corev1.Pod) drainFacts {
	f := drainFacts{
		evictionWorld: evictionWorld{evictionRules: r, guard: guardState{Mode: r.settings.Mode, Asked: askedYes}},
		node:          "worker", pods: pods,
		namespaces: map[string]*metav1.ObjectMeta{"shop": bareNamespace("shop")},
		budgets:    map[string][]policyv1.PodDisruptionBudget{"shop": budgets},
	}
	f.user.Username = "alice"
	return f
}

func TestForecast(t *testing.T) {
	t.Parallel()
	daemon := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", Controller: new(true)}}
	}
	mirror := func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }
	alone := func(p *corev1.Pod) { p.OwnerReferences = nil }
	terminating := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: evictionNow} }
	protected := func(p *corev1.Pod) {
		metav1.SetMetaDataLabel(&p.ObjectMeta, v1alpha1.DeletionProtectedLabel, v1alpha1.ProtectAlways)
	}
	draining := func(s *v1alpha1.EvictionPolicySpec) { s.Match.Node = v1alpha1.NodeDraining }
	coded := func(code int32) func(*v1alpha1.EvictionPolicySpec) {
		return func(s *v1alpha1.EvictionPolicySpec) { s.Verdict.Code = code }
	}
	until := func(s *v1alpha1.EvictionPolicySpec) {
		s.Verdict.Type, s.Verdict.Until = v1alpha1.VerdictTypeDenyUntil, "'moved' in pod.metadata.annotations"
	}
	policies := []v1alpha1.EvictionPolicy{holding("db", "db", draining, within30m), holding("gone", "gone", coded(404)), holding("until", "until", until)}
	type budgets = []policyv1.PodDisruptionBudget
	tests := []struct {
		name          string
		configuration string
		budgets       budgets
		pod           corev1.Pod
		// want is: held by, until, what kubectl drain does.
		want []string
	}{
		{name: "a pod that nothing holds", pod: running("a"), want: []string{"<none>", "", "evicts it"}},
		{name: "a DaemonSet's", pod: running("a", daemon, kafkaPod), want: []string{"<none>", "", "skips it: DaemonSet agent"}},
		{name: "a finished one of a DaemonSet", pod: running("a", daemon, inPhase(corev1.PodFailed)), want: []string{"<none>", "", "evicts it"}},
		{name: "a mirror pod", pod: running("a", mirror), want: []string{"<none>", "", "skips it: mirror pod"}},
		{name: "without a controller", pod: running("a", alone), want: []string{"<none>", "", "evicts it, with --force"}},
		{name: "finished, without a controller", pod: running("a", alone, inPhase(corev1.PodSucceeded)), want: []string{"<none>", "", "evicts it"}},
		{
			name: "a policy for nodes that are being drained", pod: running("a", ofApp("db")),
			want: []string{"EvictionPolicy db", "its operator moves it, 30m at most", "waits (429)"},
		},
		{
			name: "one that waits already", pod: running("a", ofApp("db"), askedAgo("db", 20*time.Minute, time.Minute)),
			want: []string{"EvictionPolicy db", "10m left", "waits (429)"},
		},
		{
			name: "one whose deadline has passed", pod: running("a", ofApp("db"), askedAgo("db", 40*time.Minute, time.Minute)),
			want: []string{"<none>", "", "evicts it"},
		},
		{name: "a policy that says 404", pod: running("a", ofApp("gone")), want: []string{"EvictionPolicy gone", "its operator moves it", "takes it as gone (404)"}},
		{
			name: "a policy that waits for something", pod: running("a", ofApp("until")),
			want: []string{"EvictionPolicy until", "the policy's condition holds", "waits (429)"},
		},
		{name: "a terminating pod of a policy", pod: running("a", ofApp("db"), terminating), want: []string{"<none>", "", "evicts it"}},
		{name: "the Drain Cleaner's", pod: running("a", kafkaPod), want: []string{"Strimzi Drain Cleaner", "its operator moves it", "gives up (500)"}},
		{
			name: "the Drain Cleaner's, in legacy mode with a budget", configuration: "eviction: {drainCleaner: {denyEviction: false}}",
			pod: running("a", kafkaPod, ofApp("web")), budgets: budgets{budget("web", "web", 0)},
			want: []string{"PodDisruptionBudget web", "the budget allows it", "waits (429)"},
		},
		{
			name: "a policy comes before the budget", pod: running("a", ofApp("db")), budgets: budgets{budget("db", "db", 0)},
			want: []string{"EvictionPolicy db", "its operator moves it, 30m at most", "waits (429)"},
		},
		{
			name: "two budgets", pod: running("a", ofApp("web")), budgets: budgets{budget("b", "web", 1), budget("c", "web", 1)},
			want: []string{"PodDisruptionBudget b, c", "one budget selects it", "gives up (500)"},
		},
		{name: "protected, which an eviction goes around", pod: running("a", protected), want: []string{"<none>", "", "evicts it"}},
		{
			name: "protected, and the configuration minds", configuration: "eviction: {protectedPods: Refuse}", pod: running("a", protected),
			want: []string{"deletion protection", "it is protected no longer", "waits (429)"},
		},
		{name: "out of scope", configuration: `eviction: {scope: {namespaces: ["!shop"]}}`, pod: running("a", kafkaPod), want: []string{"<none>", "", "evicts it"}},
		{name: "a mode below Enforce", configuration: "eviction: {mode: Audit}", pod: running("a", kafkaPod), want: []string{"<none>", "", "evicts it"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := onNode(rulesOf(t, tt.configuration, policies...), tt.budgets, tt.pod).forecast(evictionNow).Items[0]
			if diff := cmp.Diff(tt.want, []string{holderText(r), r.Until, rowDrainText(r)}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestForecast_aBudgetLetsSoManyGo(t *testing.T) {
	t.Parallel()
	web := ofApp("web")
	f := onNode(rulesOf(t, ""), []policyv1.PodDisruptionBudget{budget("web", "web", 2)},
		running("d", web), running("b", web), running("c", web, notReady), running("a", web), running("k", kafkaPod))
	got := f.forecast(evictionNow)
	var rows []string
	for _, r := range got.Items {
		rows = append(rows, r.Name+" "+string(r.Drain))
	}
	// c is not ready, and takes nothing from the budget.
	if diff := cmp.Diff([]string{"a Evicts", "b Evicts", "c Evicts", "d Waits", "k Fails"}, rows); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want := "5 pods: 3 go at once, 1 waits, 1 makes kubectl drain fail."
	if diff := cmp.Diff(want, got.Summary.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestForecast_withoutAWebhookOnlyBudgetsCount(t *testing.T) {
	t.Parallel()
	f := onNode(rulesOf(t, ""), nil, running("k", kafkaPod))
	f.guard.Asked = askedNo
	if got := f.forecast(evictionNow).Items[0].Drain; got != drainEvicts {
		t.Errorf("got %s", got)
	}
}
