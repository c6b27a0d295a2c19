// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

const deny = `"verdict":{"type":"Deny","message":"m"}`

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		name, match string
		words       []string
		mend        func(*Facts)
		want        bool
	}{
		{name: "a selector of everything", match: `"podSelector":{}`, want: true},
		{name: "a label", match: `"podSelector":{"matchLabels":{"a":"b"}}`, words: []string{"a=b"}, want: true},
		{name: "another value of a label", match: `"podSelector":{"matchLabels":{"a":"b"}}`, words: []string{"a=c"}},
		{name: "an expression of labels", match: `"podSelector":{"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]}`, words: []string{"b=c"}, want: true},
		{name: "a pattern of a label", match: `"labelPatterns":{"a":".+-db"}`, words: []string{"a=my-db"}, want: true},
		{name: "a pattern matches the whole value", match: `"labelPatterns":{"a":".+-db"}`, words: []string{"a=my-db-exporter"}},
		{name: "a pattern matches from the start", match: `"labelPatterns":{"a":"db|web"}`, words: []string{"a=my-db"}},
		{name: "either side of a pattern matches the whole", match: `"labelPatterns":{"a":"db|web"}`, words: []string{"a=dbx"}},
		{name: "a pattern of nothing asks for the empty value", match: `"labelPatterns":{"a":""}`, words: []string{"a="}, want: true},
		{name: "a pattern asks for the label", match: `"labelPatterns":{"a":".*"}`, words: []string{"b=c"}},
		{name: "all patterns count", match: `"labelPatterns":{"a":".*","b":"x"}`, words: []string{"a=1", "b=y"}},
		{name: "an annotation that is there", match: `"annotationPatterns":{"a":".*"}`, words: []string{"@a="}, want: true},
		{name: "an annotation that is not there", match: `"annotationPatterns":{"a":".*"}`, words: []string{"a=b"}},
		{name: "a dot does not match a line break", match: `"annotationPatterns":{"a":"x.*"}`, words: []string{"@a=x\ny"}},
		{name: "a controller of a kind", match: `"ownerKinds":[{"group":"core.strimzi.io","kind":"StrimziPodSet"}]`, words: []string{"controller:core.strimzi.io/v1/StrimziPodSet"}, want: true},
		{name: "any version of the kind", match: `"ownerKinds":[{"group":"apps","kind":"X"},{"group":"core.strimzi.io","kind":"StrimziPodSet"}]`, words: []string{"controller:core.strimzi.io/v1beta2/StrimziPodSet"}, want: true},
		{name: "an owner that is no controller", match: `"ownerKinds":[{"group":"apps","kind":"StatefulSet"}]`, words: []string{"owner:apps/v1/StatefulSet"}},
		{name: "a kind of another group", match: `"ownerKinds":[{"group":"apps","kind":"StatefulSet"}]`, words: []string{"controller:apps.kruise.io/v1beta1/StatefulSet"}},
		{name: "a kind of the core group", match: `"ownerKinds":[{"kind":"ReplicationController"}]`, words: []string{"controller:v1/ReplicationController"}, want: true},
		{name: "no controller", match: `"ownerKinds":[{"kind":"ReplicationController"}]`},
		{name: "a namespace", match: `"podSelector":{},"namespaces":["shop"]`, want: true},
		{name: "another namespace", match: `"podSelector":{},"namespaces":["bank"]`},
		{name: "a pattern of namespaces", match: `"podSelector":{},"namespaces":["s*","!shop-test"]`, want: true},
		{name: "an excluded namespace", match: `"podSelector":{},"namespaces":["!shop"]`},
		{name: "labels of the namespace", match: `"podSelector":{},"namespaceSelector":{"matchLabels":{"tier":"gold"}}`, want: true},
		{name: "other labels of the namespace", match: `"podSelector":{},"namespaceSelector":{"matchLabels":{"tier":"tin"}}`},
		{name: "a condition about the pod", match: `"condition":"pod.metadata.labels['a'] == 'b'"`, words: []string{"a=b"}, want: true},
		{name: "a condition that does not hold", match: `"condition":"pod.metadata.labels['a'] == 'b'"`, words: []string{"a=c"}},
		{name: "labels and annotations are there for a condition", match: `"condition":"!('a' in pod.metadata.labels) && !('a' in pod.metadata.annotations)"`, want: true},
		{name: "a condition about whoever asks", match: `"condition":"request.username == 'alice' && 'admins' in request.groups && !request.dryRun"`, want: true},
		{name: "a condition about a dry run", match: `"condition":"request.dryRun"`, mend: dry, want: true},
		{name: "parts are ANDed", match: `"podSelector":{"matchLabels":{"a":"b"}},"condition":"false"`, words: []string{"a=b"}},
		{name: "a condition that cannot be told of a finished pod", match: `"condition":"pod.no.such.field"`, words: []string{"phase:Failed"}},
		{name: "a condition that cannot be told of a terminating pod", match: `"condition":"pod.no.such.field"`, words: []string{"terminating"}},
		{name: "a running pod is in", match: `"podSelector":{}`, words: []string{"phase:Running"}, want: true},
		{name: "a pending pod is in", match: `"podSelector":{}`, words: []string{"phase:Pending"}, want: true},
		{name: "a mirror pod is in no policy", match: `"podSelector":{}`, words: []string{"@" + corev1.MirrorPodAnnotationKey + "="}},
		{name: "a pod of a DaemonSet is in no policy", match: `"podSelector":{}`, words: []string{"controller:apps/v1/DaemonSet"}},
		{name: "a pod of another DaemonSet is in", match: `"podSelector":{}`, words: []string{"controller:apps.kruise.io/v1/DaemonSet"}, want: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := about(pod(tt.words...))
			if tt.mend != nil {
				tt.mend(&f)
			}
			v := Decide(enforced(compiled(t, fmt.Sprintf(`p: {"match":{%s},%s}`, tt.match, deny))...), f)
			if v.Need != NeedNothing || v.Err != nil {
				t.Fatalf("got %+v", v)
			}
			if got := v.Policy == "p"; got != tt.want {
				t.Errorf("matches: got %v (%s), want %v", got, brief(v), tt.want)
			}
		})
	}
}

func TestOrder(t *testing.T) {
	const all = `"match":{"podSelector":{}},` + deny
	kafka := []string{"strimzi.io/kind=Kafka", "strimzi.io/name=x-kafka"}
	for _, tt := range []struct {
		name     string
		policies []string
		words    []string
		want     string
	}{
		{name: "the highest priority decides", policies: []string{`a: {` + all + `}`, `b: {"priority":1,` + all + `}`}, want: "held, b, 429 TooManyRequests"},
		{name: "of equals the first by name", policies: []string{`b: {` + all + `}`, `a: {` + all + `}`}, want: "held, a, 429 TooManyRequests"},
		{name: "a negative priority comes last", policies: []string{`a: {"priority":-1,` + all + `}`, `b: {` + all + `}`}, want: "held, b, 429 TooManyRequests"},
		{name: "one that does not match is passed over", policies: []string{`a: {"match":{"namespaces":["x"],"podSelector":{}},` + deny + `}`, `b: {` + all + `}`}, want: "held, b, 429 TooManyRequests"},
		{name: "one that is off is passed over", policies: []string{`a: {"mode":"Off",` + all + `}`, `b: {` + all + `}`}, want: "held, b, 429 TooManyRequests"},
		{name: "a policy goes before the Drain Cleaner", policies: []string{`a: {"match":{"podSelector":{}},"verdict":{"type":"Allow"}}`}, want: "allowed, a, passes"},
		{name: "the Drain Cleaner comes after them", policies: []string{`a: {"match":{"namespaces":["x"],"podSelector":{}},` + deny + `}`}, want: "held, drain cleaner, 500, writes strimzi.io/manual-rolling-update=true"},
		{
			name: "what is leaving anyway does not come to the Drain Cleaner", policies: []string{`a: {` + all + `}`},
			words: []string{"terminating"}, want: "leaving, a, passes",
		},
		{
			name: "one on trial tells, and the next decides", policies: []string{`a: {"mode":"Audit",` + all + `}`, `b: {"mode":"Warn",` + all + `}`},
			want: "held, drain cleaner, 500, writes strimzi.io/manual-rolling-update=true; on trial: held, a, in mode Audit, 429 TooManyRequests; on trial: held, b, in mode Warn, 429 TooManyRequests",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := enforced(compiled(t, tt.policies...)...)
			s.DrainCleaner = DrainCleaner{Enabled: true, Kafka: true, Deny: true}
			v := Decide(s, about(pod(slices.Concat(kafka, tt.words)...)))
			if v.Patch != nil && v.Policy != "" {
				v.Patch = nil // its own bookkeeping
			}
			got := brief(v)
			for _, trial := range v.Trials {
				got += "; on trial: " + brief(trial)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestModes_theWeakerCounts(t *testing.T) {
	for _, tt := range []struct{ whole, one, want configv1alpha1.Mode }{
		{whole: "Enforce", one: "Enforce", want: "Enforce"},
		{whole: "Enforce", one: "Warn", want: "Warn"},
		{whole: "Warn", one: "Enforce", want: "Warn"},
		{whole: "Audit", one: "Warn", want: "Audit"},
		{whole: "Warn", one: "Audit", want: "Audit"},
		{whole: "Off", one: "Enforce", want: "Off"},
		{whole: "Enforce", one: "", want: "Enforce"},
	} {
		s := enforced(compiled(t, fmt.Sprintf(`p: {"mode":%q,"match":{"podSelector":{}},"action":{"annotations":{"a":"b"},"event":{"reason":"R","message":"m"}},%s}`, tt.one, deny))...)
		s.Mode = tt.whole
		v := Decide(s, about(pod()))
		if len(v.Trials) > 0 {
			v = v.Trials[0]
		}
		if v.Mode != tt.want || v.Allowed || v.Code != 429 {
			t.Errorf("%s and %s: got %+v, want mode %s", tt.whole, tt.one, v, tt.want)
		}
		if wrote := v.Patch != nil || v.Events != nil; wrote != (tt.want == configv1alpha1.ModeEnforce) {
			t.Errorf("%s and %s: writes %v and sends %v", tt.whole, tt.one, v.Patch, v.Events)
		}
	}
}

// What is asked for, and in which order, until the decision is there.
func TestNeed(t *testing.T) {
	for _, tt := range []struct {
		name, policy string
		words        []string
		mend         func(*Settings)
		want         []Need
	}{
		{name: "nothing that matches needs nothing", policy: `p: {"match":{"podSelector":{"matchLabels":{"a":"b"}},"condition":"true"},` + deny + `}`},
		{name: "a namespace that does not match needs nothing", policy: `p: {"match":{"namespaces":["x"],"condition":"true"},` + deny + `}`},
		{name: "an exempt pod needs nothing", policy: `p: {"match":{"condition":"true"},` + deny + `}`, words: []string{"controller:apps/v1/DaemonSet"}},
		{name: "a terminating pod needs no node", policy: `p: {"match":{"podSelector":{},"node":"Draining"},` + deny + `}`, words: []string{"terminating"}, want: []Need{NeedPod}},
		{name: "labels need the pod, whose phase counts", policy: `p: {"match":{"podSelector":{}},` + deny + `}`, want: []Need{NeedPod}},
		{name: "a condition needs the pod", policy: `p: {"match":{"condition":"true"},` + deny + `}`, want: []Need{NeedPod}},
		{name: "the namespace comes before the pod", policy: `p: {"match":{"condition":"true","namespaceSelector":{"matchLabels":{"tier":"gold"}}},` + deny + `}`, want: []Need{NeedNamespace, NeedPod}},
		{name: "a namespace with other labels is enough", policy: `p: {"match":{"condition":"true","namespaceSelector":{"matchLabels":{"tier":"tin"}}},` + deny + `}`, want: []Need{NeedNamespace}},
		{name: "the node comes last", policy: `p: {"match":{"condition":"true","node":"Draining","namespaceSelector":{}},` + deny + `}`, want: []Need{NeedNamespace, NeedPod, NeedNode}},
		{name: "a condition that does not hold needs no node", policy: `p: {"match":{"condition":"false","node":"Draining"},` + deny + `}`, want: []Need{NeedPod}},
		{name: "what protects the pod comes first", policy: `p: {"match":{"podSelector":{}},` + deny + `}`, mend: func(s *Settings) { s.RefuseProtected = true }, want: []Need{NeedProtection, NeedPod}},
		{name: "a policy that is off needs nothing", policy: `p: {"mode":"Off","match":{"condition":"true"},` + deny + `}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := enforced(compiled(t, tt.policy)...)
			if tt.mend != nil {
				tt.mend(&s)
			}
			whole := about(pod(tt.words...))
			f := Facts{Request: whole.Request, Meta: whole.Meta, Now: noon}
			var got []Need
			for {
				v := Decide(s, f)
				if v.Need == NeedNothing {
					break
				}
				if len(got) > 4 {
					t.Fatalf("it asks for ever: %v", got)
				}
				got = append(got, v.Need)
				switch v.Need {
				case NeedPod:
					f.Pod = whole.Pod
				case NeedNode:
					f.Node = whole.Node
				case NeedNamespace:
					f.Namespace = whole.Namespace
				case NeedProtection:
					f.Protection = whole.Protection
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDraining(t *testing.T) {
	taint := func(key string) *corev1.Node {
		return &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "other"}, {Key: key, Effect: corev1.TaintEffectNoSchedule}}}}
	}
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: kind, Status: status}}}}
	}
	for name, tt := range map[string]struct {
		node *corev1.Node
		want bool
	}{
		"a node that is gone":                  {nil, true},
		"a node that goes":                     {&corev1.Node{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}}, true},
		"a node":                               {&corev1.Node{}, false},
		"a cordoned node":                      {&corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}, true},
		"a tainted node":                       {taint("node.kubernetes.io/not-ready"), false},
		"one tainted as cordoned":              {taint("node.kubernetes.io/unschedulable"), true},
		"one that the cluster autoscaler ends": {taint("ToBeDeletedByClusterAutoscaler"), true},
		"a candidate of the autoscaler":        {taint("DeletionCandidateOfClusterAutoscaler"), false},
		"one that Karpenter ends":              {taint("karpenter.sh/disrupted"), true},
		"one that an older Karpenter ends":     {taint("karpenter.sh/disruption"), true},
		"one whose drain goes on":              {condition("DrainInProgress", corev1.ConditionTrue), true},
		"one whose drain is over":              {condition("DrainInProgress", corev1.ConditionFalse), false},
		"one that is not ready":                {condition(corev1.NodeReady, corev1.ConditionFalse), false},
	} {
		if got := Draining(tt.node); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
