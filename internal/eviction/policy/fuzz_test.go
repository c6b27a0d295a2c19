// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// bits hands out choices.
type bits uint64

func pick[T any](b *bits, of ...T) T {
	out := of[uint64(*b)%uint64(len(of))]
	*b /= bits(len(of))
	return out
}

// FuzzDecide holds what nobody can configure away: nothing panics or asks for ever,
// a dry run and a mode below Enforce write and send nothing, and a refusal is no 409,
// which Karpenter takes for a pod that is gone.
func FuzzDecide(f *testing.F) {
	f.Add(uint64(0), uint64(0), "x-kafka", "", "true", "", int64(0))
	f.Add(uint64(1<<40), uint64(77), "x-zookeeper", "this", "pod.metadata.name == 'db-0'", "'moved' in pod.metadata.annotations", int64(400))
	f.Add(uint64(12345678901), uint64(987654321), "x", "other", "pod.x", "1", int64(4000))
	f.Add(uint64(98765432109876), uint64(3), `{"policy":"p","uid":"this","first":"2026-03-01T11:00:00Z","last":"2026-03-01T11:59:59Z"}`, "this", "", "request.dryRun", int64(700))
	f.Fuzz(func(t *testing.T, choices, more uint64, text, uid, condition, until string, seconds int64) {
		b, c := bits(choices), bits(more)
		s := Settings{
			Mode:            pick(&b, configv1alpha1.Modes...),
			DrainCleaner:    DrainCleaner{Enabled: pick(&b, true, false), Kafka: pick(&b, true, false), ZooKeeper: pick(&b, true, false), Deny: pick(&b, true, false)},
			RefuseProtected: pick(&b, false, true),
		}
		if p, problems := Compile(fuzzed(&b, text, condition, until)); len(problems) == 0 {
			s.Policies = []*Policy{p}
		}
		p := pod(pick(&c, "a=b", "terminating", "phase:Failed", "controller:apps/v1/DaemonSet"), "strimzi.io/kind=Kafka", "strimzi.io/name="+text, "@a="+text,
			"@"+v1alpha1.EvictionAskedAnnotation+"="+text)
		facts := Facts{Request: Request{Namespace: "shop", Name: "db-0", UID: types.UID(uid), DryRun: pick(&c, true, false)}, Meta: &p.ObjectMeta, Now: noon.Add(time.Duration(seconds) * time.Second)}
		for range 8 {
			v := Decide(s, facts)
			switch v.Need {
			case NeedPod:
				facts.Pod = p
			case NeedNode:
				facts.Node = pick(&c, &Node{}, &Node{Draining: true})
			case NeedNamespace:
				facts.Namespace = &metav1.ObjectMeta{Name: "shop"}
			case NeedProtection:
				facts.Protection = pick(&c, new(""), new("a label"))
			case NeedNothing:
				sound(t, s, facts, v)
				return
			}
		}
		t.Error("it asks for ever")
	})
}

// fuzzed makes a policy that the schema lets through; Compile may not.
func fuzzed(b *bits, text, condition, until string) *v1alpha1.EvictionPolicy {
	in := &v1alpha1.EvictionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	in.Spec = v1alpha1.EvictionPolicySpec{
		Match: v1alpha1.EvictionMatch{
			Condition:         condition,
			Node:              pick(b, v1alpha1.NodeAny, v1alpha1.NodeDraining, ""),
			Elsewhere:         pick(b, v1alpha1.ElsewhereNotFound, v1alpha1.ElsewhereAllow, ""),
			NamespaceSelector: pick(b, nil, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"a": text}}),
			PodSelector:       pick(b, nil, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}),
			LabelPatterns:     pick(b, nil, map[string]v1alpha1.Pattern{"a": v1alpha1.Pattern(text)}),
		},
		Action: v1alpha1.EvictionAction{
			Annotations: pick(b, nil, map[string]string{"a": text}), Labels: pick(b, nil, map[string]string{"a": "c"}),
			Event: pick(b, nil, &v1alpha1.EvictionEvent{Reason: "R", Message: "m"}),
		},
		Verdict: v1alpha1.EvictionVerdict{
			Type: pick(b, v1alpha1.VerdictTypeDeny, v1alpha1.VerdictTypeAllow), Message: "m", Code: pick(b, int32(0), 400, 403, 404, 429, 500, 503),
		},
		OnError: pick(b, v1alpha1.OnErrorRefuse, v1alpha1.OnErrorAllow, ""),
		Mode:    string(pick(b, slices.Concat(configv1alpha1.Modes, []configv1alpha1.Mode{""})...)),
		Deadline: pick(b, nil, &v1alpha1.EvictionDeadline{
			After: metav1.Duration{Duration: 5 * time.Minute}, Then: pick(b, v1alpha1.OverdueAllow, v1alpha1.OverdueDeny, ""),
		}),
	}
	if until != "" {
		in.Spec.Verdict.Type, in.Spec.Verdict.Until = v1alpha1.VerdictTypeDenyUntil, until
	}
	return in
}

// sound says what is wrong with a verdict, whatever was asked.
func sound(t *testing.T, s Settings, f Facts, v Verdict) {
	t.Helper()
	if wrote := v.Patch != nil || v.Events != nil; wrote && (f.Request.DryRun || !v.Enforced() || s.Mode != configv1alpha1.ModeEnforce) {
		t.Errorf("a dry run, or a mode below Enforce, writes or sends: %+v", v)
	}
	if v.Patch != nil && len(v.Patch.Annotations)+len(v.Patch.Labels) == 0 {
		t.Errorf("it writes nothing: %+v", v)
	}
	if v.Code == 409 || !v.Allowed && v.Code < 400 || v.Allowed && (v.Code != 0 || v.Reason != "" || v.Message != "") {
		t.Errorf("no such answer: %+v", v)
	}
	if v.Outcome == "" || (v.Outcome == OutcomeError) != (v.Err != nil) || v.Policy != "" && v.DrainCleaner {
		t.Errorf("it does not know why: %+v", v)
	}
	if f.otherUID() && (v.Patch != nil || !v.Allowed && v.Outcome != OutcomeError) {
		t.Errorf("an eviction for another pod: %+v", v)
	}
	if again := Decide(s, f); brief(again) != brief(v) {
		t.Errorf("another verdict on the same facts: %s and %s", brief(v), brief(again))
	}
}

// FuzzCondition holds that no expression that compiles panics, and that what is
// judged by it is one of true, false and an error.
func FuzzCondition(f *testing.F) {
	for _, seed := range []string{
		"true", "pod.metadata.name == 'db-0'", "request.groups.exists(g, g == 'admins')", "pod.metadata.annotations[?'moved'].orValue('') == 'yes'",
		"pod.status.conditions.all(c, c.type != 'Ready')", "1/0 == 1", "pod", "request", "'a'.matches('(')", "[1].map(x, x)[2] == 1", "duration('x') > duration('1s')",
		"quantity('1Gi').isGreaterThan(quantity('x'))", "pod.spec.containers[0].image.startsWith('x')", "has(pod.spec) && dyn(1) == dyn('1')",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		c, err := newCondition(text)
		if err != nil {
			return
		}
		_, _ = c.holds(about(pod("a=b", "phase:Running")))
	})
}
