// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// The world of the differential test: every object that a case can start from
// is made before the policies are there, because they would refuse some.
var (
	diffKeys   = []string{strict, karmada, kruise}
	diffValues = []string{"absent", "", "Always", "Cascading"}
	diffKinds  = []struct {
		resource   schema.GroupResource
		body       string
		terminates bool
	}{
		{schema.GroupResource{Resource: "configmaps"}, `{apiVersion: v1, kind: ConfigMap}`, true},
		{schema.GroupResource{Resource: "pods"}, `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}]}}`, true},
		{schema.GroupResource{Group: "apps", Resource: "replicasets"}, `{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`, true},
		{schema.GroupResource{Resource: "endpoints"}, `{apiVersion: v1, kind: Endpoints}`, false},
		{schema.GroupResource{Resource: "namespaces"}, `{apiVersion: v1, kind: Namespace}`, false},
	}
	diffOwners = []string{"none", "owner", "controller", "made", "renamed"}
	diffUsers  = []string{
		"alice", "ns-unprotector", "unprotector", "system:kube-controller-manager",
		"system:serviceaccount:kube-system:generic-garbage-collector", "system:node:n1", "system:serviceaccount:other:workloads",
	}
)

// diffSample is how many requests the test takes without fuzzing.
const diffSample = 2000

type diffWorld struct {
	env       *testkit.Env
	namespace string
	owner     types.UID
	clients   map[string]client.Client
	warnings  map[string]*warnings
	rules     policy.Rules
}

// warnings collects what the API server warned of in one client's last request.
type warnings struct {
	mu   sync.Mutex
	text []string
}

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.text
	w.text = nil
	return out
}

func newDiffWorld(t testing.TB) *diffWorld {
	t.Helper()
	e := testkit.New(t, testkit.Options{NoManager: true})
	w := &diffWorld{
		env: e, namespace: e.Namespace(t), clients: map[string]client.Client{}, warnings: map[string]*warnings{},
		rules: policy.NewRules(configv1alpha1.DeletionConfiguration{Labels: configv1alpha1.DeletionLabels{
			Karmada: configv1alpha1.LabelOpen, Kruise: configv1alpha1.LabelOpen,
		}}),
	}
	w.owner = configMap(t, e, w.namespace, "owner").UID
	for _, user := range diffUsers {
		everything(t, e, user)
		config := rest.CopyConfig(e.Config)
		config.Impersonate = rest.ImpersonationConfig{UserName: user}
		w.warnings[user] = &warnings{}
		config.WarningHandlerWithContext = w.warnings[user]
		c, err := client.New(config, client.Options{Scheme: e.Client.Scheme(), Mapper: e.Client.RESTMapper()})
		if err != nil {
			t.Fatal(err)
		}
		w.clients[user] = c
	}
	mayUnprotect(t, e, w.namespace, "ns-unprotector")
	mayUnprotect(t, e, "", "unprotector")

	var group errgroup.Group
	group.SetLimit(16)
	for i := range caseSpace() {
		c := decodeCase(w, i)
		if c.old == nil {
			continue
		}
		group.Go(func() error { return w.make(t.Context(), c) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	e.StartManager(t)
	if err := e.WaitEnforced(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// diffCase is one request, made of its number so that a fuzzer can choose it.
type diffCase struct {
	kind        int
	operation   admissionv1.Operation
	user        string
	old, new    *unstructured.Unstructured
	terminating bool
}

// The digits of a case's number, each below its radix. The first five make the
// object that the case starts from.
var diffRadix = []int{
	len(diffKinds), len(diffValues), len(diffValues), len(diffValues), len(diffOwners) * 2, // old: kind, labels, owner and terminating
	len(diffValues), len(diffValues), len(diffValues), len(diffOwners), // new: labels, owner
	3, len(diffUsers), // operation, user
}

// caseSpace is how many objects there are to start from.
func caseSpace() int {
	n := 1
	for _, r := range diffRadix[:5] {
		n *= r
	}
	return n
}

func decodeCase(w *diffWorld, number int) diffCase {
	digits := make([]int, len(diffRadix))
	for i, r := range diffRadix {
		digits[i], number = number%r, number/r
	}
	c := diffCase{
		kind: digits[0], terminating: digits[4] >= len(diffOwners),
		operation: []admissionv1.Operation{admissionv1.Delete, admissionv1.Update, admissionv1.Create}[digits[9]],
		user:      diffUsers[digits[10]],
	}
	if !diffKinds[c.kind].terminates {
		c.terminating = false
	}
	if diffOwners[digits[4]%len(diffOwners)] == "renamed" {
		digits[4]-- // such an object would be collected before the case is put
	}
	name := fmt.Sprintf("o-%d%d%d-%d-%t", digits[1], digits[2], digits[3], digits[4]%len(diffOwners), c.terminating)
	c.old = w.object(c.kind, name, digits[1:4], diffOwners[digits[4]%len(diffOwners)])
	if c.operation == admissionv1.Create {
		c.old, name = nil, "new"
	}
	if c.operation != admissionv1.Delete {
		c.new = w.object(c.kind, name, digits[5:8], diffOwners[digits[8]])
	}
	return c
}

func (w *diffWorld) object(kind int, name string, values []int, owner string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(diffKinds[kind].body), &o.Object); err != nil {
		panic(err) // the bodies are constants
	}
	o.SetName(name)
	if o.GetKind() != "Namespace" {
		o.SetNamespace(w.namespace)
		if owner == "owner" || owner == "controller" || owner == "renamed" {
			reference := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: w.owner, Controller: new(owner != "owner")}
			if owner == "renamed" {
				reference.Name = "nobody"
			}
			o.SetOwnerReferences([]metav1.OwnerReference{reference})
		}
	}
	labels := map[string]string{}
	for i, v := range values {
		if diffValues[v] != "absent" {
			labels[diffKeys[i]] = diffValues[v]
		}
	}
	if owner == "made" {
		labels[policy.MadeByLabel] = policy.MadeByValue
	}
	o.SetLabels(labels)
	return o
}

// make brings the object of a case to the cluster, if it is not there yet.
func (w *diffWorld) make(ctx context.Context, c diffCase) error {
	o := c.old.DeepCopy()
	if c.terminating {
		o.SetFinalizers([]string{"example.com/hold"})
	}
	err := w.env.Client.Create(ctx, o)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err == nil && c.terminating {
		err = w.env.Client.Delete(ctx, o, client.GracePeriodSeconds(0))
	}
	return err
}

// request is the case as the pure function sees it.
func (w *diffWorld) request(c diffCase) policy.Request {
	resource := diffKinds[c.kind].resource
	isNamespace := resource.Resource == "namespaces"
	return policy.Request{
		Operation:    c.operation,
		Resource:     resource,
		Namespace:    w.namespace,
		Object:       metadata(c.new, c.terminating),
		OldObject:    metadata(c.old, c.terminating),
		User:         c.user,
		MayUnprotect: c.user == "unprotector" || c.user == "ns-unprotector" && !isNamespace,
	}
}

func metadata(o *unstructured.Unstructured, terminating bool) *metav1.PartialObjectMetadata {
	if o == nil {
		return nil
	}
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), Labels: o.GetLabels(), OwnerReferences: o.GetOwnerReferences(),
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
		return user.Delete(ctx, c.old.DeepCopy(), client.DryRunAll)
	case admissionv1.Create:
		return user.Create(ctx, c.new.DeepCopy(), client.DryRunAll)
	default:
		current := c.old.DeepCopy()
		if err := w.env.Client.Get(ctx, client.ObjectKeyFromObject(current), current); err != nil {
			return err
		}
		current.SetLabels(withName(current, c.new.GetLabels()))
		current.SetOwnerReferences(c.new.GetOwnerReferences())
		return user.Update(ctx, current, client.DryRunAll)
	}
}

// withName keeps the label that the API server insists on.
func withName(o *unstructured.Unstructured, labels map[string]string) map[string]string {
	if name, ok := o.GetLabels()[corev1.LabelMetadataName]; ok {
		labels[corev1.LabelMetadataName] = name
	}
	return labels
}

var (
	deniedBy = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied request: (.*)$`)
	warnedBy = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)' with binding '[^']+': (.*)$`)
)

// compare asks both and reports where they differ.
func (w *diffWorld) compare(t *testing.T, number int) {
	t.Helper()
	c := decodeCase(w, number)
	verdict := w.rules.Decide(w.request(c))
	w.warnings[c.user].take()
	err := w.ask(t.Context(), c)

	describe := func() string {
		return fmt.Sprintf("case %d: %s as %s\nold %v\nnew %v", number, c.operation, c.user, c.old, c.new)
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
	all := uint64(1)
	for _, r := range diffRadix {
		all *= uint64(r)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range diffSample {
		f.Add(random.Uint64N(all))
	}
	w := newDiffWorld(f)
	f.Fuzz(func(t *testing.T, number uint64) {
		w.compare(t, int(number%all))
	})
}
