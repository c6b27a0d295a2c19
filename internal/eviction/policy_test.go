// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestEvictionPolicy_holdsAPodAndReleasesIt(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: EvictionPolicy, metadata: {name: `+ns+`}, spec: {
		match: {namespaces: [`+ns+`], podSelector: {matchLabels: {db: "yes"}}},
		action: {annotations: {move: please}},
		verdict: {type: DenyUntil, until: "pod.metadata.annotations[?'moved'].orValue('') == 'yes'", message: the primary is moved first}}}`)
	defer e.Kubectl(t, "delete", "evp", ns)
	p := pod(t, e, ns, "db-0", map[string]string{"db": "yes"})
	g.Eventually(func() error { return evict(t, e, ns, p.Name, dryRun) }, "180s", "100ms").Should(gomega.Satisfy(apierrors.IsTooManyRequests))
	if err := evict(t, e, ns, p.Name, nil); !apierrors.IsTooManyRequests(err) {
		t.Errorf("got %v, want a 429", err)
	}
	g.Eventually(func() string {
		s := policyStatus(t, e, ns)
		return fmt.Sprintf("waiting %d, matched %d, denied %d", s.Waiting, s.Matched, s.Denied)
	}, "180s", "200ms").Should(gomega.Equal("waiting 1, matched 1, denied 1"), "dry runs count for nothing")
	e.Kubectl(t, "annotate", "pod", "-n", ns, p.Name, "moved=yes")
	if err := evict(t, e, ns, p.Name, nil); err != nil {
		t.Error(err)
	}
}

func TestEvictionPolicy_thatIsDeletedLetsGoOfItsPods(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: EvictionPolicy, metadata: {name: `+ns+`}, spec: {
		match: {namespaces: [`+ns+`], podSelector: {}}, action: {annotations: {move: please}}, verdict: {type: Deny, message: wait}}}`)
	p := pod(t, e, ns, "p", nil)
	g.Eventually(func() error { return evict(t, e, ns, p.Name, dryRun) }, "180s", "100ms").Should(gomega.Satisfy(apierrors.IsTooManyRequests))
	if err := evict(t, e, ns, p.Name, nil); !apierrors.IsTooManyRequests(err) {
		t.Errorf("got %v, want a 429", err)
	}
	g.Eventually(waiting(t, e, ns), "180s", "100ms").Should(gomega.BeEquivalentTo(1))
	if out := e.Kubectl(t, "delete", "evp", ns); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	g.Eventually(func() map[string]string { return annotations(t, e, ns, p.Name) }, "180s", "200ms").
		Should(gomega.Equal(map[string]string{"other": "kept", "move": "please"}), "what the action wrote stays: the operator may be at it")
}

// The Drain Cleaner's rules, which would end the drain, are not asked about it.
func TestEvictionPolicy_aTerminatingBrokerPasses(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	p := pod(t, e, ns, "a-kafka-0", kafka("a-kafka"))
	g.Eventually(func() error { return evict(t, e, ns, p.Name, dryRun) }, "180s", "100ms").Should(gomega.Satisfy(apierrors.IsInternalError))
	strimziPolicy(t, e, ns)
	g.Eventually(func() error { return evict(t, e, ns, p.Name, dryRun) }, "180s", "100ms").ShouldNot(gomega.Satisfy(apierrors.IsInternalError))
	finalizers := func(list string) {
		t.Helper()
		if out := e.Kubectl(t, "patch", "pod", "-n", ns, p.Name, "--type=merge", "-p", `{"metadata":{"finalizers":`+list+`}}`); out.Code != 0 {
			t.Fatal(out.Stderr)
		}
	}
	finalizers(`["example.com/stays"]`)
	defer finalizers("null")
	if out := e.Kubectl(t, "delete", "pod", "-n", ns, p.Name, "--wait=false"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	if err := evict(t, e, ns, p.Name, nil); err != nil {
		t.Errorf("got %v, want it to pass", err)
	}
}

func TestEvictionPolicy_mistakesAreRefusedOnWrite(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	const good = "verdict: {type: Deny, message: wait}"
	tests := []struct{ name, spec, want string }{
		{"nothing to match by", "match: {namespaces: [a]}, " + good, "a policy needs a podSelector"},
		{"a pattern of namespaces that is none", "match: {namespaces: ['re:('], condition: 'true'}, " + good, "spec.match.namespaces[0]"},
		{"a label pattern that is none", "match: {labelPatterns: {a: '('}}, " + good, "spec.match.labelPatterns"},
		{"a condition that does not compile", "match: {condition: 'pod.'}, " + good, "spec.match.condition"},
		{"a condition that is not true or false", "match: {condition: '1 + 1'}, " + good, "must be true or false"},
		{"until without DenyUntil", "match: {condition: 'true'}, verdict: {type: Deny, message: wait, until: 'true'}", "spec.verdict.until"},
		{"DenyUntil without until", "match: {condition: 'true'}, verdict: {type: DenyUntil, message: wait}", "spec.verdict.until"},
		{"a refusal that does not say why", "match: {condition: 'true'}, verdict: {type: Deny}", "spec.verdict.message"},
		{"409, which Karpenter takes as gone", "match: {condition: 'true'}, verdict: {type: Deny, message: wait, code: 409}", "spec.verdict.code"},
		{"a deadline that is too short", "match: {condition: 'true'}, deadline: {after: 1s}, " + good, "at least 10s"},
		{"an annotation that is Holdfast's own", "match: {condition: 'true'}, action: {annotations: {holdfast.dev/x: z}}, " + good, "Holdfast's own"},
		{"a label with a value that no label can have", "match: {condition: 'true'}, action: {labels: {a: 'b c'}}, " + good, "spec.action.labels"},
		{"a mode that there is not", "match: {condition: 'true'}, mode: Sometimes, " + good, "spec.mode"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := e.KubectlInput(t, "{apiVersion: holdfast.dev/v1alpha1, kind: EvictionPolicy, metadata: {name: wrong}, spec: {"+tt.spec+"}}",
				"create", "--dry-run=server", "-f", "-")
			if out.Code == 0 || !strings.Contains(out.Stderr, tt.want) {
				t.Errorf("got %q, want a refusal with %q", out.Stderr, tt.want)
			}
		})
	}
}

func TestEvictionPolicy_theHighestPriorityDecidesThenTheName(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	for _, p := range []struct{ name, priority string }{{"a", "0"}, {"b", "5"}, {"c", "5"}} {
		e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: EvictionPolicy, metadata: {name: `+ns+p.name+`}, spec: {priority: `+p.priority+`,
			match: {namespaces: [`+ns+`], podSelector: {}}, verdict: {type: Deny, code: 503, message: by `+p.name+`}}}`)
	}
	defer e.Kubectl(t, "delete", "evp", ns+"a", ns+"b", ns+"c")
	p := pod(t, e, ns, "a-kafka-0", kafka("a-kafka"))
	gomega.NewWithT(t).Eventually(func() string {
		err := evict(t, e, ns, p.Name, dryRun)
		if !apierrors.IsServiceUnavailable(err) {
			return ""
		}
		return err.Error()
	}, "180s", "100ms").Should(gomega.HaveSuffix("EvictionPolicy " + ns + "b: by b"))
}

func TestEvictionPolicy_aDeadlineEnds(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: EvictionPolicy, metadata: {name: `+ns+`}, spec: {
		match: {namespaces: [`+ns+`], podSelector: {}}, deadline: {after: 10s}, verdict: {type: Deny, message: wait}}}`)
	defer e.Kubectl(t, "delete", "evp", ns)
	p := pod(t, e, ns, "p", nil)
	g.Eventually(func() error { return evict(t, e, ns, p.Name, dryRun) }, "180s", "100ms").Should(gomega.Satisfy(apierrors.IsTooManyRequests))
	if err := evict(t, e, ns, p.Name, nil); !apierrors.IsTooManyRequests(err) {
		t.Errorf("the first: %v, want a 429", err)
	}
	g.Eventually(func() error { return evict(t, e, ns, p.Name, nil) }, "180s", "500ms").Should(gomega.Succeed())
	g.Eventually(reasons(t, e, ns), "180s", "200ms").Should(gomega.ContainElement("EvictionOverdue"))
}

func TestEvictionPolicy_belowEnforceOnlyTells(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	ns := e.Namespace(t)
	e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: EvictionPolicy, metadata: {name: `+ns+`}, spec: {mode: Warn,
		match: {namespaces: [`+ns+`], podSelector: {}}, action: {labels: {move: please}}, verdict: {type: Deny, message: would wait}}}`)
	defer e.Kubectl(t, "delete", "evp", ns)
	p := pod(t, e, ns, "p", nil)
	raw := func() testkit.Output { // kubectl shows the warnings
		return e.KubectlInput(t, `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"`+p.Name+`","namespace":"`+ns+`"},"deleteOptions":{"dryRun":["All"]}}`,
			"create", "--raw", "/api/v1/namespaces/"+ns+"/pods/"+p.Name+"/eviction", "-f", "-")
	}
	g.Eventually(func() string { return raw().Stderr }, "180s", "200ms").Should(gomega.ContainSubstring("would wait"))
	if err := evict(t, e, ns, p.Name, nil); err != nil {
		t.Errorf("mode Warn refuses: %v", err)
	}
}
