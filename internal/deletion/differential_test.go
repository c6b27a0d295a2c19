// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// diffUsers are who asks. Those whose name says so hold a verb of Holdfast's; star
// holds every verb on everything in its group.
var diffUsers = []string{
	"alice", "ns-unprotector", "unprotector", "bypasser", "bypasser-of-one", "star",
	"system:kube-controller-manager", "system:serviceaccount:kube-system:generic-garbage-collector",
	"system:node:n1", "system:kube-scheduler", "system:serviceaccount:other:workloads", "system:serviceaccount:other:everything",
}

var (
	diffOperations   = []admissionv1.Operation{admissionv1.Delete, admissionv1.Delete, admissionv1.Update, admissionv1.Create}
	diffPropagations = []metav1.DeletionPropagation{"", metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan}
)

// diffSample is how many requests the test takes without fuzzing, and diffShort how many of them it takes with
// -short: as few as come to every rule.
const diffSample, diffShort = 2000, 450

// diffCase is one request, made of its number so that a fuzzer can choose it.
type diffCase struct {
	fixture     int
	operation   admissionv1.Operation
	propagation metav1.DeletionPropagation
	user        string
	old, new    *unstructured.Unstructured
}

// The digits of a case's number, each below its radix.
var diffRadix = []int{
	diffFixtures, len(diffOperations), len(diffUsers), len(diffPropagations),
	len(diffValues), len(diffValues), len(diffValues), len(diffOwners), // new: labels, owner
}

// diffSpace is how many cases there are.
func diffSpace() uint64 {
	all := uint64(1)
	for _, r := range diffRadix {
		all *= uint64(r)
	}
	return all
}

// fixtureOf is what the case of a number starts from: its first digit.
func fixtureOf(number uint64) int { return int(number % uint64(diffRadix[0])) }

// diffNumbers are the cases that the test takes without fuzzing.
func diffNumbers() []uint64 {
	random := rand.New(rand.NewPCG(1, 2))
	sample := diffSample
	if testing.Short() {
		sample = diffShort
	}
	out := make([]uint64, sample)
	for i := range out {
		out[i] = random.Uint64N(diffSpace())
	}
	return out
}

func decodeCase(w *diffWorld, number uint64) diffCase {
	digits := make([]int, len(diffRadix))
	for i, r := range diffRadix {
		digits[i], number = int(number%uint64(r)), number/uint64(r)
	}
	c := diffCase{
		fixture: digits[0], operation: diffOperations[digits[1]], user: diffUsers[digits[2]], propagation: diffPropagations[digits[3]],
		old: w.fixture(digits[0]),
	}
	kind, owner := w.fixtures[c.fixture].kind, diffOwners[digits[7]]
	switch c.operation {
	case admissionv1.Create:
		c.old, c.new = nil, w.object(kind, w.namespace, "new", digits[4:7], owner)
	case admissionv1.Update: // the marks stay, and so does all that no rule is about
		changed := w.object(kind, "", strings.TrimSuffix(c.old.GetName(), "."+diffGroup), digits[4:7], owner)
		labels := changed.GetLabels()
		maps.Copy(labels, w.fixtures[c.fixture].marks)
		c.new = c.old.DeepCopy()
		c.new.SetLabels(labels)
		c.new.SetAnnotations(with(c.old.GetAnnotations(), changed.GetAnnotations()))
		c.new.SetOwnerReferences(w.object(kind, c.old.GetNamespace(), "", nil, owner).GetOwnerReferences())
	}
	return c
}

// with returns all annotations.
func with(annotations, more map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, annotations)
	maps.Copy(out, more)
	return out
}

// request is the case as the pure function sees it.
func (w *diffWorld) request(c diffCase) policy.Request {
	f := w.fixtures[c.fixture]
	resource := diffKinds[f.kind].resource
	req := policy.Request{
		Operation: c.operation, Resource: resource, Namespace: w.namespace, User: c.user,
		Object: metadata(c.new, f.terminating && c.old != nil), OldObject: metadata(c.old, f.terminating),
		MayUnprotect: c.user == "unprotector" || c.user == "star",
	}
	if c.old != nil {
		// Every user has all rights in the groups of the owners; two have them in all groups.
		allowed, _, ok := policy.OperatorChecks(c.user, req.OldObject)
		req.Operates = ok && slices.Contains(diffGroups, allowed.Group) && c.user != diffEverything && !strings.HasSuffix(c.user, ":generic-garbage-collector")
	}
	switch {
	case resource == policy.CustomResourceDefinitions:
		req.Namespace = ""
	case f.released && c.old != nil:
		req.Namespace = w.released
	}
	if c.user == "ns-unprotector" {
		req.MayUnprotect = policy.UnprotectNamespace(resource, req.Namespace) == w.namespace
	}
	if c.operation == admissionv1.Delete {
		old := c.old.DeepCopy()
		old.SetUID(diffBound)
		req.Used = policy.Used(resource, old.Object)
		req.Orphans = c.propagation == metav1.DeletePropagationOrphan
		req.Released = f.released
		req.MayBypass = map[policy.Mark]bool{}
		for says, label := range map[policy.Mark]string{
			policy.MarkProtection: v1alpha1.ProtectedByMark, policy.MarkWhileUsed: v1alpha1.ProtectedWhileUsedByMark,
		} {
			req.MayBypass[says] = c.user == "bypasser" || c.user == "bypasser-of-one" && f.marks[label] == "one"
		}
	}
	return req
}

func metadata(o *unstructured.Unstructured, terminating bool) *metav1.PartialObjectMetadata {
	if o == nil {
		return nil
	}
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), UID: diffBound, Labels: o.GetLabels(), Annotations: o.GetAnnotations(), OwnerReferences: o.GetOwnerReferences(),
	}}
	if terminating {
		m.DeletionTimestamp = &metav1.Time{}
	}
	return m
}

// ask puts the case to the API server, as a dry run.
func (w *diffWorld) ask(ctx context.Context, c diffCase) error {
	user := w.clients[c.user]
	switch c.operation {
	case admissionv1.Delete:
		options := []client.DeleteOption{client.DryRunAll}
		if c.propagation != "" {
			options = append(options, client.PropagationPolicy(c.propagation))
		}
		return user.Delete(ctx, c.old.DeepCopy(), options...)
	case admissionv1.Create:
		return user.Create(ctx, c.new.DeepCopy(), client.DryRunAll)
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { // a controller may still write the status
		current := c.old.DeepCopy()
		if err := w.env.Client.Get(ctx, client.ObjectKeyFromObject(current), current); err != nil {
			return err
		}
		labels := maps.Clone(c.new.GetLabels())
		if labels[v1alpha1.MarkedLabel] == diffBound {
			labels[v1alpha1.MarkedLabel] = string(current.GetUID())
		}
		if name, ok := current.GetLabels()[corev1.LabelMetadataName]; ok { // the API server insists on it
			labels[corev1.LabelMetadataName] = name
		}
		current.SetLabels(labels)
		current.SetAnnotations(with(current.GetAnnotations(), c.new.GetAnnotations()))
		current.SetOwnerReferences(c.new.GetOwnerReferences())
		return user.Update(ctx, current, client.DryRunAll)
	})
}

var (
	deniedBy = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied request: (.*)$`)
	warnedBy = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)' with binding '[^']+': (.*)$`)
)

// compare asks both and reports where they differ.
func (w *diffWorld) compare(t *testing.T, number uint64) {
	t.Helper()
	c := decodeCase(w, number)
	verdict := w.rules.Decide(w.request(c))
	w.warnings[c.user].take()
	err := w.ask(t.Context(), c)

	describe := func() string {
		return fmt.Sprintf("case %d: %s (%s) as %s\nfixture %+v\nold %v\nnew %v", number, c.operation, c.propagation, c.user, w.fixtures[c.fixture], c.old, c.new)
	}
	if err != nil && !apierrors.IsForbidden(err) {
		t.Fatalf("%s\nthe API server did not come to a verdict: %v", describe(), err)
	}
	if (err == nil) != verdict.Allowed() {
		t.Fatalf("%s\nthe function says %v, the API server %v", describe(), verdict, err)
	}
	if err != nil {
		m := deniedBy.FindStringSubmatch(err.Error())
		if m == nil || !slices.ContainsFunc(verdict, func(f policy.Finding) bool {
			return !f.WarnOnly && f.Key.PolicyName(f.Rule) == m[1] && f.Message == m[2]
		}) {
			t.Fatalf("%s\nthe function says %v, the API server %v", describe(), verdict, err)
		}
		return // what is refused is not warned of in a way that clients see
	}
	var want, got []string
	for _, f := range verdict {
		want = append(want, f.Key.PolicyName(f.Rule)+": "+f.Message)
	}
	for _, text := range w.warnings[c.user].take() {
		if m := warnedBy.FindStringSubmatch(text); m != nil {
			got = append(got, m[1]+": "+m[2])
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s\nwarnings (-function +API server):\n%s", describe(), diff)
	}
}

// FuzzDifferential puts requests to the function and to the policies of a real
// API server. As a test it takes a fixed sample of all that are possible; as a
// fuzz target it lets the fuzzer choose.
func FuzzDifferential(f *testing.F) {
	for _, n := range diffNumbers() {
		f.Add(n)
	}
	w := newDiffWorld(f)
	f.Fuzz(func(t *testing.T, number uint64) {
		if !w.made[fixtureOf(number%diffSpace())] { // it is neither of the sample, nor was it made for a fuzzer
			testkit.Long(t)
		}
		w.compare(t, number%diffSpace())
	})
}

// A sample that does not come to a rule, or to a way past one, compares nothing.
func TestDifferential_theSampleComesToEveryRule(t *testing.T) {
	t.Parallel()
	w := emptyDiffWorld()
	without := map[string]func(*policy.Request){ // each is the only reason why some deletion passes
		"bypass":     func(r *policy.Request) { r.MayBypass = nil },
		"release":    func(r *policy.Request) { r.Released = false },
		"orphans":    func(r *policy.Request) { r.Orphans = false },
		"not used":   func(r *policy.Request) { r.Used = true },
		"the right":  func(r *policy.Request) { r.MayUnprotect = false },
		"controller": func(r *policy.Request) { r.User = "alice" },
		"preemption": func(r *policy.Request) {
			if slices.Contains(policy.Preemptors, r.User) {
				r.User = policy.ClusterControllers[0]
			}
		},
		"operation":           func(r *policy.Request) { r.Operates = false },
		"termination":         func(r *policy.Request) { r.OldObject.DeletionTimestamp = nil },
		"override":            func(r *policy.Request) { delete(r.OldObject.Labels, v1alpha1.OverrideMark) },
		"override's contents": func(r *policy.Request) { delete(r.OldObject.Labels, v1alpha1.OverrideContentsMark) },
		"marks of another": func(r *policy.Request) {
			metav1.SetMetaDataLabel(&r.OldObject.ObjectMeta, v1alpha1.MarkedLabel, diffBound)
		},
		"annotation": func(r *policy.Request) { delete(r.OldObject.Annotations, v1alpha1.DeleteUncheckedAnnotation) },
	}
	want, got := map[string]bool{}, map[string]bool{}
	for _, k := range w.rules.Keys {
		rules := []policy.Rule{policy.RuleDelete}
		if k.Mark == "" {
			rules = append(rules, policy.RuleValue, policy.RuleValueStands, policy.RuleTooLate)
		}
		if k.Strict {
			rules = append(rules, policy.RuleUnprotect, policy.RuleOwn, policy.RuleControl)
		}
		switch k.Mark {
		case policy.MarkProtection, policy.MarkWhileUsed:
			rules = append(rules, policy.RuleOwn, policy.RuleControl, policy.RuleRelabel)
		case policy.MarkContents:
			rules = append(rules, policy.RuleUnchecked)
		}
		for _, r := range rules {
			want[fmt.Sprintf("%s, rule %s", k.PolicyName(r), r)] = true
		}
	}
	for way := range without {
		want["passes only by "+way] = true
	}
	for _, n := range diffNumbers() {
		req := w.request(decodeCase(w, n))
		verdict := w.rules.Decide(req)
		for _, f := range verdict {
			got[fmt.Sprintf("%s, rule %s", f.Key.PolicyName(f.Rule), f.Rule)] = true
		}
		if req.Operation != admissionv1.Delete || !verdict.Allowed() {
			continue
		}
		for way, take := range without {
			less := req
			less.OldObject = req.OldObject.DeepCopy()
			take(&less)
			if !w.rules.Decide(less).Allowed() {
				got["passes only by "+way] = true
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("what the sample comes to (-want +got):\n%s", strings.TrimSpace(diff))
	}
}
