// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

var evictionNow = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// running makes a pod in namespace shop that is ready, and that a controller
// manages.
func running(name string, change ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID(name),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: "worker"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, fn := range change {
		fn(&p)
	}
	return p
}

func ofApp(app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { metav1.SetMetaDataLabel(&p.ObjectMeta, "app", app) }
}

func inPhase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func notReady(p *corev1.Pod) { p.Status.Conditions = nil }

func kafkaPod(p *corev1.Pod) {
	p.Labels = map[string]string{"strimzi.io/kind": "Kafka", "strimzi.io/name": "my-cluster-kafka"}
}

// budget makes one for the pods of an app.
func budget(name, app string, allowed int32, change ...func(*policyv1.PodDisruptionBudget)) policyv1.PodDisruptionBudget {
	b := policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, DesiredHealthy: 2, CurrentHealthy: 2 + allowed},
	}
	for _, fn := range change {
		fn(&b)
	}
	return b
}

// holding makes an EvictionPolicy that holds the pods of an app.
func holding(name, app string, change ...func(*v1alpha1.EvictionPolicySpec)) v1alpha1.EvictionPolicy {
	p := v1alpha1.EvictionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.EvictionPolicySpec{
			Match:   v1alpha1.EvictionMatch{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
			Verdict: v1alpha1.EvictionVerdict{Type: v1alpha1.VerdictTypeDeny, Message: "it is moved first"},
		},
	}
	for _, fn := range change {
		fn(&p.Spec)
	}
	return p
}

func within30m(s *v1alpha1.EvictionPolicySpec) {
	s.Deadline = &v1alpha1.EvictionDeadline{After: metav1.Duration{Duration: 30 * time.Minute}}
}

// askedAgo annotates a pod as one that a policy holds.
func askedAgo(name string, first, last time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		metav1.SetMetaDataLabel(&p.ObjectMeta, v1alpha1.EvictingLabel, name)
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.EvictionAskedAnnotation, `{"uid":"`+string(p.UID)+`","policy":"`+name+
			`","first":"`+evictionNow.Add(-first).Format(time.RFC3339)+`","last":"`+evictionNow.Add(-last).Format(time.RFC3339)+`"}`)
	}
}

func rulesOf(t *testing.T, configuration string, policies ...v1alpha1.EvictionPolicy) evictionRules {
	t.Helper()
	r, err := newEvictionRules(configuration, policies)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAskBudgets(t *testing.T) {
	t.Parallel()
	alwaysAllow := func(b *policyv1.PodDisruptionBudget) {
		b.Spec.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
	}
	unhealthy := func(b *policyv1.PodDisruptionBudget) { b.Status.CurrentHealthy = 1 }
	tests := []struct {
		name    string
		pod     corev1.Pod
		budgets []policyv1.PodDisruptionBudget
		want    budgetAnswer
	}{
		{name: "no budget selects the pod", pod: running("a", ofApp("web")), budgets: []policyv1.PodDisruptionBudget{budget("b", "db", 0)}},
		{
			name: "a budget of another namespace does not count", pod: running("a", ofApp("web")),
			budgets: []policyv1.PodDisruptionBudget{budget("b", "web", 0, func(b *policyv1.PodDisruptionBudget) { b.Namespace = "other" })},
		},
		{
			name: "a budget that allows it is counted", pod: running("a", ofApp("web")),
			budgets: []policyv1.PodDisruptionBudget{budget("b", "web", 1)},
			want:    budgetAnswer{Names: []string{"b"}, Counted: true},
		},
		{
			name: "a budget without disruptions refuses", pod: running("a", ofApp("web")),
			budgets: []policyv1.PodDisruptionBudget{budget("b", "web", 0)},
			want: budgetAnswer{
				Names: []string{"b"}, Counted: true, Refuses: true, Code: 429, Message: budgetMessage,
				Detail: "the budget b needs 2 healthy pods and has 2",
			},
		},
		{
			name: "a budget that changed and was not looked at refuses", pod: running("a", ofApp("web")),
			budgets: []policyv1.PodDisruptionBudget{budget("b", "web", 1, func(b *policyv1.PodDisruptionBudget) { b.Generation = 2 })},
			want: budgetAnswer{
				Names: []string{"b"}, Counted: true, Refuses: true, Code: 429, Message: budgetMessage, Detail: "the budget b is still being worked on",
			},
		},
		{
			name: "several budgets are an error of the API server", pod: running("a", ofApp("web")),
			budgets: []policyv1.PodDisruptionBudget{budget("c", "web", 1), budget("b", "web", 1)},
			want:    budgetAnswer{Names: []string{"b", "c"}, Refuses: true, Code: 500, Message: severalMessage},
		},
		{
			name: "a negative budget is forbidden", pod: running("a", ofApp("web")),
			budgets: []policyv1.PodDisruptionBudget{budget("b", "web", -1)},
			want: budgetAnswer{
				Names: []string{"b"}, Counted: true, Refuses: true, Code: 403,
				Message: `poddisruptionbudgets.policy "b" is forbidden: pdb disruptions allowed is negative`,
			},
		},
		{
			name: "a pending pod goes", pod: running("a", ofApp("web"), inPhase(corev1.PodPending)),
			budgets: []policyv1.PodDisruptionBudget{budget("b", "web", 0)}, want: budgetAnswer{Names: []string{"b"}},
		},
		{
			name: "a pod that is not ready goes while the others are healthy", pod: running("a", ofApp("web"), notReady),
			budgets: []policyv1.PodDisruptionBudget{budget("b", "web", 0)}, want: budgetAnswer{Names: []string{"b"}},
		},
		{
			name: "a pod that is not ready stays while too few are healthy", pod: running("a", ofApp("web"), notReady),
			budgets: []policyv1.PodDisruptionBudget{budget("b", "web", 0, unhealthy)},
			want: budgetAnswer{
				Names: []string{"b"}, Counted: true, Refuses: true, Code: 429, Message: budgetMessage,
				Detail: "the budget b needs 2 healthy pods and has 1",
			},
		},
		{
			name: "unless its budget always lets such pods go", pod: running("a", ofApp("web"), notReady),
			budgets: []policyv1.PodDisruptionBudget{budget("b", "web", 0, unhealthy, alwaysAllow)}, want: budgetAnswer{Names: []string{"b"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, askBudgets(&tt.pod, tt.budgets)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestWaitingOf(t *testing.T) {
	t.Parallel()
	s := rulesOf(t, "", holding("db", "db", within30m), holding("free", "free")).settings
	rolled := func(manager, fields string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			kafkaPod(p)
			p.Annotations = map[string]string{v1alpha1.StrimziRollAnnotation: "true"}
			p.ManagedFields = []metav1.ManagedFieldsEntry{{
				Manager: manager, Time: &metav1.Time{Time: evictionNow.Add(-time.Minute)}, FieldsV1: metav1.NewFieldsV1(fields),
			}}
		}
	}
	const owns = `{"f:metadata":{"f:annotations":{"f:strimzi.io/manual-rolling-update":{}}}}`
	tests := []struct {
		name string
		pod  corev1.Pod
		// want is by what, and for how long; empty if it does not wait.
		want, left string
	}{
		{name: "a pod that nobody evicts does not wait", pod: running("a")},
		{name: "a policy with a deadline", pod: running("a", askedAgo("db", 20*time.Minute, time.Minute)), want: "EvictionPolicy db", left: "10m left"},
		{
			name: "a deadline that has passed", pod: running("a", askedAgo("db", 40*time.Minute, time.Minute)),
			want: "EvictionPolicy db", left: "overdue: the next eviction passes",
		},
		{
			name: "a policy without one", pod: running("a", askedAgo("free", time.Minute, time.Minute)),
			want: "EvictionPolicy free", left: "its operator moves it",
		},
		{
			name: "a row of evictions that ended", pod: running("a", askedAgo("free", time.Hour, 30*time.Minute)),
			want: "EvictionPolicy free", left: "nobody asks any more",
		},
		{
			name: "a policy that is gone", pod: running("a", askedAgo("gone", time.Hour, time.Hour)),
			want: "EvictionPolicy gone", left: "its operator moves it",
		},
		{name: "the rules of the Drain Cleaner", pod: running("a", rolled("holdfast-eviction", owns)), want: "Strimzi Drain Cleaner", left: "its operator moves it"},
		{name: "somebody else who asks for the roll", pod: running("a", rolled("kubectl-annotate", owns))},
		{name: "Holdfast wrote something else", pod: running("a", rolled("holdfast-eviction", `{"f:metadata":{"f:labels":{}}}`))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got, left string
			if w := waitingOf(&tt.pod, s, evictionNow); w != nil {
				got, left = w.By.String(), w.left(evictionNow)
			}
			if diff := cmp.Diff([]string{tt.want, tt.left}, []string{got, left}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestNewGuardState(t *testing.T) {
	t.Parallel()
	hooks := func(names ...string) *admissionregistrationv1.ValidatingWebhookConfiguration {
		out := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		for _, name := range names {
			out.Webhooks = append(out.Webhooks, admissionregistrationv1.ValidatingWebhook{Name: name})
		}
		return out
	}
	status := func(conditions ...metav1.Condition) *v1alpha1.Holdfast {
		return &v1alpha1.Holdfast{Status: v1alpha1.HoldfastStatus{Conditions: conditions}}
	}
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}
	tests := []struct {
		name          string
		configuration string
		holdfast      *v1alpha1.Holdfast
		hooks         *admissionregistrationv1.ValidatingWebhookConfiguration
		err           error
		want          guardState
	}{
		{
			name: "all is well", holdfast: status(ready), hooks: hooks("a.b.c", policy.DrainCleanerWebhook),
			want: guardState{Mode: configv1alpha1.ModeEnforce, Asked: askedYes, Ready: metav1.ConditionTrue},
		},
		{
			name: "Holdfast is not installed",
			want: guardState{
				Mode: configv1alpha1.ModeEnforce, Asked: askedNo, Ready: metav1.ConditionUnknown,
				Problems: []string{"Holdfast is not asked about evictions: there is no webhook for evictions in the ValidatingWebhookConfiguration holdfast-guard"},
			},
		},
		{
			name: "there is nothing to ask", configuration: "eviction: {drainCleaner: {enabled: false}}", holdfast: status(ready), hooks: hooks("a.b.c"),
			want: guardState{
				Mode: configv1alpha1.ModeEnforce, Asked: askedNo, Ready: metav1.ConditionTrue,
				Problems: []string{"Holdfast is not asked about evictions: there is no EvictionPolicy, and the rules of the Strimzi Drain Cleaner are off"},
			},
		},
		{
			name: "the webhooks may not be read", err: errors.New("you may not"),
			want: guardState{
				Mode: configv1alpha1.ModeEnforce, Asked: askedUnknown, Ready: metav1.ConditionUnknown,
				Problems: []string{"you may not; Holdfast is assumed to be asked about evictions"},
			},
		},
		{
			name: "a second guard", hooks: hooks(policy.Webhook),
			holdfast: status(
				metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "SecondGuard", Message: "it is not alone"},
				metav1.Condition{Type: v1alpha1.ConditionEvictionGuardAlone, Status: metav1.ConditionFalse, Message: "there are two"}),
			want: guardState{
				Mode: configv1alpha1.ModeEnforce, Asked: askedYes, Ready: metav1.ConditionFalse,
				Problems: []string{"Holdfast is not ready: SecondGuard: it is not alone", "there are two"},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, newGuardState(rulesOf(t, tt.configuration), tt.holdfast, tt.hooks, tt.err)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestNewEvictionRules_passesOverWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	r := rulesOf(t, "eviction: {mode: Warn, fromTheFuture: 1}\nnext: {a: b}", holding("good", "web"),
		holding("bad", "web", func(s *v1alpha1.EvictionPolicySpec) { s.Match.Condition = "1 +" }))
	if r.settings.Mode != configv1alpha1.ModeWarn || len(r.settings.Policies) != 1 || len(r.broken) != 1 {
		t.Errorf("got mode %s, %d policies, broken: %q", r.settings.Mode, len(r.settings.Policies), r.broken)
	}
}

func TestNamesOnly(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		args  []string
		want  []string
		fails bool
	}{
		{name: "a name", args: []string{"web"}, want: []string{"web"}},
		{name: "a type and names", args: []string{"pods", "a", "b"}, want: []string{"a", "b"}},
		{name: "a type with a slash", args: []string{"pod/a", "po/b"}, want: []string{"a", "b"}},
		{name: "another type", args: []string{"deploy/a"}, fails: true},
		{name: "no name behind the slash", args: []string{"pod/"}, fails: true},
		{name: "nothing", fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := namesOnly("pod", tt.args, "po", "pods")
			if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != tt.fails {
				t.Errorf("got %v (-want +got)\n%s", err, diff)
			}
		})
	}
}

// A policy on trial is named, as one that does not decide.
func TestEvictionRules_judge_namesWhatOnlyTells(t *testing.T) {
	made := func(name, mode string, priority int32) *policy.Policy {
		in := &v1alpha1.EvictionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
		in.Spec = v1alpha1.EvictionPolicySpec{
			Mode: mode, Priority: priority, Match: v1alpha1.EvictionMatch{Condition: "true"},
			Verdict: v1alpha1.EvictionVerdict{Type: v1alpha1.VerdictTypeDeny, Message: "m"},
		}
		p, problems := policy.Compile(in)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		return p
	}
	web := running("web-0")
	r := evictionRules{config: &configv1alpha1.HoldfastConfiguration{}, settings: policy.Settings{Mode: configv1alpha1.ModeEnforce, Policies: []*policy.Policy{
		made("first", "Audit", 3), made("decides", "", 2), made("second", "Warn", 1), made("later", "", 0),
	}}}
	j := r.judge(policy.Facts{
		Request: policy.Request{Namespace: web.Namespace, Name: web.Name}, Pod: &web, Node: &policy.Node{}, Now: evictionNow,
		Namespace: bareNamespace(web.Namespace),
	})
	x := evictExplanation{Trials: j.trials, Later: j.later, Decision: evictionDecision{By: decider(j.verdict), Outcome: j.verdict.Outcome, Mode: j.verdict.Mode}}
	x.Scope.InScope = j.inScope
	want := "EvictionPolicy decides (held, mode Enforce); these match too, and only tell: EvictionPolicy first, EvictionPolicy second" +
		"; these match too, and come later: EvictionPolicy later"
	if diff := cmp.Diff(want, decidedText(x)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
