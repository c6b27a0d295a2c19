// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// patienceForErrors is for what waits for a deadline, and then for a pause between two
// tries.
const patienceForErrors = 3 * time.Minute

// kept is the condition about service accounts, empty where there is none.
func (r *rig) kept() metav1.Condition {
	r.t.Helper()
	h := &v1alpha1.Holdfast{}
	if err := r.Client.Get(r.t.Context(), client.ObjectKey{Name: v1alpha1.HoldfastName}, h); client.IgnoreNotFound(err) != nil {
		r.t.Fatal(err)
	}
	if c := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionServiceAccountsKept); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// What the API server refuses is told once and tried again, and all others go on.
// Strimzi's testCreateOrUpdateThrowsWhenCreateThrows has the error come out of the
// reconciliation; here it comes out of events, the status of the template and the
// condition.
func TestErrors_writesThatFail(t *testing.T) {
	t.Parallel()
	r := shared(t)
	group := r.kind("Shop")
	tests := map[string]struct {
		code   int32
		exists bool
		said   string
	}{
		"may-not-make":     {code: 403, said: "Create: "},
		"exists-it-says":   {code: 409, said: "Create: "},
		"breaks-to-make":   {code: 500, said: "Create: "},
		"never-answers":    {code: testkit.Hangs, said: "Create: "},
		"may-not-apply":    {code: 403, exists: true, said: "Apply: "},
		"conflicts-always": {code: 409, exists: true, said: "Apply: "},
		"breaks-to-apply":  {code: 500, exists: true, said: "Apply: "},
	}
	codes := map[string]int32{}
	names := slices.Sorted(maps.Keys(tests))
	for _, name := range names {
		codes[name] = tests[name].code
		if tests[name].exists {
			r.makeAccount(name, nil, nil)
		}
	}
	f := testkit.NewFaults(t, r.Env, r.namespace, "serviceaccounts", codes)
	r.atEnd(admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"), "faults-"+r.namespace)
	r.Eventually(func() bool { // the webhook takes a moment
		a := r.account("may-not-apply")
		err := r.As(t, testkit.GuardUser).Patch(t.Context(), a, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`)), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "not now")
	}).WithTimeout(patience).WithPolling(often).Should(gomega.BeTrue())

	r.template(r.namespace, "  source: {group: "+group+`, kind: Shop}
  accounts: [{id: a, name: "${self.metadata.name}", labels: {by: shop}, ownerReference: {}}]
`)
	var objects strings.Builder
	for _, name := range append(names, "well") {
		fmt.Fprintf(&objects, "---\napiVersion: %s/v1\nkind: Shop\nmetadata: {name: %s}\nspec: {n: 1}\n", group, name)
	}
	r.apply(objects.String())
	r.becomes("well", "by=shop")
	for _, name := range names {
		r.Eventually(func() []string { return r.events("Shop", name, ReasonFailed) }).WithTimeout(patienceForErrors).WithPolling(often).
			Should(gomega.ContainElement(gomega.ContainSubstring(fmt.Sprintf("the account %s cannot be written: %s", name, tests[name].said))), name)
	}
	r.says(r.namespace, "Errors 8/8/7/0/7")
	r.Eventually(func() string { return r.kept().Message }).WithTimeout(patience).WithPolling(often).
		Should(gomega.ContainSubstring("7 service accounts cannot be written, and are tried again: " + r.namespace + "/breaks-to-apply"))
	before := f.Asked("breaks-to-make")
	r.Eventually(func() int { return f.Asked("breaks-to-make") }).WithTimeout(patience).WithPolling(often).Should(gomega.BeNumerically(">", before), "it is tried again")
	if got := r.events("Shop", "breaks-to-make", ReasonFailed); len(got) != 1 {
		t.Errorf("it is told more than once: %v", got)
	}
	for _, name := range names {
		f.Lift(name)
	}
	for _, name := range names {
		r.Eventually(func() string { return r.custom(name) }).WithTimeout(patienceForErrors).WithPolling(often).Should(gomega.Equal("by=shop"), name)
	}
	r.says(r.namespace, "InForce 8/8/0/0/0")
}

// denies has a policy of somebody else deny something, until the function that it
// returns is called. It is in force once a try fails.
func (r *rig) denies(group, resource, operation string, try func() error) (allow func()) {
	r.t.Helper()
	name := r.namespace + "-denies"
	r.apply(fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[2]s}}
    resourceRules: [{apiGroups: ["%[3]s"], apiVersions: ["*"], operations: [%[5]s], resources: [%[4]s]}]
  failurePolicy: Fail
  validations: [{expression: "false", message: "the policy of another team"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, name, r.namespace, group, resource, operation))
	r.atEnd(admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy"), name)
	binding := admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding")
	r.atEnd(binding, name)
	r.Eventually(func() string { return fmt.Sprint(try()) }).WithTimeout(patience).WithPolling(often).Should(gomega.ContainSubstring("another team"))
	return func() {
		r.t.Helper()
		r.kubectl("delete", "validatingadmissionpolicybinding", name)
	}
}

// TestErrors_aPolicyThatDenies has Strimzi's testReconcileDeletionThrowsWhenDeletionThrows
// too.
func TestErrors_aPolicyThatDenies(t *testing.T) {
	t.Parallel()
	r := shared(t)
	kafka := func(spec string) {
		r.apply("apiVersion: kafka.strimzi.io/v1\nkind: Kafka\nmetadata: {name: k}\nspec: {kafka: {}" + spec + "}\n")
	}
	kafka(", kafkaExporter: {}")
	r.becomes("k-kafka-exporter", "")
	allow := r.denies("", "serviceaccounts", "CREATE, UPDATE, DELETE", func() error {
		return r.Client.Delete(t.Context(), r.account("k-kafka-exporter"), client.DryRunAll)
	})
	kafka(", cruiseControl: {}") // one is made, and one is deleted
	for _, what := range []string{"k-cruise-control cannot be written: Create: ", "k-kafka-exporter cannot be written: Delete: "} {
		r.saidOf("Kafka", "k", ReasonFailed, what)
	}
	r.saidOf("Kafka", "k", ReasonFailed, "the policy of another team")
	shared(t).fence("elsewhere")
	allow()
	r.becomes("k-cruise-control", "")
	r.becomes("k-kafka-exporter", "none")
}

// In a namespace that goes nothing can be made, and nobody has to be told.
func TestErrors_aNamespaceThatGoes(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.apply("apiVersion: kafka.strimzi.io/v1\nkind: KafkaBridge\nmetadata: {name: b}\nspec: {replicas: 1}\n")
	r.becomes("b-bridge", "")
	allow := r.denies("kafka.strimzi.io", "kafkabridges", "DELETE", func() error {
		if out := r.Kubectl(t, "delete", "kafkabridge", "b", "-n", r.namespace, "--dry-run=server"); out.Code != 0 {
			return fmt.Errorf("%s", out.Stderr)
		}
		return nil
	})
	r.kubectl("delete", "namespace", r.namespace, "--wait=false")
	r.becomes("b-bridge", "none") // while its object stays
	shared(t).fence("elsewhere")
	if said := r.kept().Message; strings.Contains(said, r.namespace) {
		t.Errorf("the condition tells of it: %s", said)
	}
	r.becomes("b-bridge", "none")
	allow()
}

// TestOutdated are errors that say no more than that an account is another than it was
// known to be, or is gone: Strimzi's testReconcileDeletionDoesNotThrowWhenDeletionReturnsFalse.
func TestOutdated(t *testing.T) {
	t.Parallel()
	accounts := accountSource.Resource.GroupResource()
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"it is gone", apierrors.NewNotFound(accounts, "a"), true},
		{"it is there", apierrors.NewAlreadyExists(accounts, "a"), true},
		{"it has changed", apierrors.NewConflict(accounts, "a", errors.New("another")), true},
		{"the same from within", fmt.Errorf("Delete: %w", apierrors.NewNotFound(accounts, "a")), true},
		{"it may not be written", apierrors.NewForbidden(accounts, "a", errors.New("no")), false},
		{"the API server breaks", apierrors.NewInternalError(errors.New("broken")), false},
		{"nothing", nil, false},
	} {
		if got := outdated(tt.err); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}

// Where Holdfast may not read the accounts themselves, as in Strimzi's
// testExistenceCheckThrows, it writes nothing, and goes on once it may.
func (r *rig) accountsMayNotBeRead(t *testing.T, keep string) {
	t.Helper()
	role := &rbacv1.ClusterRole{}
	role.Name = "holdfast-guard-serviceaccounts"
	if err := r.Client.Get(t.Context(), clientKey(role), role); err != nil {
		t.Fatal(err)
	}
	given := role.DeepCopy()
	role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "serviceaccounts") })
	if err := r.Client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	r.apply("apiVersion: kafka.strimzi.io/v1\nkind: KafkaBridge\nmetadata: {name: blind}\nspec: {replicas: 1}\n")
	r.runs(t, keep, "--feature-gates=+ServiceAccountPatching")
	r.Eventually(func() string { return r.kept().Message }).WithTimeout(patience).WithPolling(often).Should(gomega.ContainSubstring("cannot be read: serviceaccounts"))
	if r.account("blind-bridge") != nil || r.accountWrites() != 0 {
		t.Error("accounts are written that cannot be read")
	}
	role.Rules = given.Rules
	if err := r.Client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	r.Eventually(func() string { return r.custom("blind-bridge") }).WithTimeout(patienceForErrors).WithPolling(often).Should(gomega.Equal(""))
	r.Eventually(func() string { return r.kept().Reason }).WithTimeout(patienceForErrors).WithPolling(often).Should(gomega.Equal("Alone"))
}

// Where Holdfast may not read a kind it says so, others go on, and what somebody else
// may have is left to them until it is known; that ends by itself.
func TestErrors_aKindThatMayNotBeRead(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := own(t)
	group := r.kind("Shop")
	r.template("shops", "  source: {group: "+group+`, kind: Shop}
  accounts: [{id: a, name: "x-bridge", labels: {by: shop}, ownerReference: {}}]
`)
	const keep = "{mode: Enforce}\ndeletion: {mode: 'Off'}\neviction: {mode: 'Off'}"
	r.makeAccount("x-bridge", map[string]string{"mine": "1"}, nil)
	r.apply("apiVersion: " + group + "/v1\nkind: Shop\nmetadata: {name: first}\nspec: {n: 1}\n")
	r.runs(t, keep, "--feature-gates=+ServiceAccountPatching")
	r.becomes("x-bridge", "by=shop mine=1")
	if err := r.Manager.Stop(); err != nil {
		t.Fatal(err)
	}
	r.Manager = nil

	role := &rbacv1.ClusterRole{}
	role.Name = "holdfast-guard"
	if err := r.Client.Get(t.Context(), clientKey(role), role); err != nil {
		t.Fatal(err)
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "*") })
	if err := r.Client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	r.apply("apiVersion: kafka.strimzi.io/v1\nkind: KafkaBridge\nmetadata: {name: x}\nspec: {replicas: 1}\n")
	r.runs(t, keep, "--feature-gates=+ServiceAccountPatching")
	r.says("shops", "APIError 0/0/0/0/0")
	r.Eventually(func() string { return r.kept().Message }).WithTimeout(patience).WithPolling(often).Should(gomega.ContainSubstring("cannot be read: shops." + group))
	r.fence("others")
	before := r.becomes("x-bridge", "by=shop mine=1")
	if before.Labels["strimzi.io/kind"] != "" {
		t.Errorf("another object has it: %v", before.Labels)
	}

	r.Grant(t, "", testkit.GuardUser, testkit.Rule(group, []string{"shops"}, "get", "list", "watch"))
	r.Eventually(func() string { return r.kept().Reason }).WithTimeout(patienceForErrors).WithPolling(often).Should(gomega.Equal("Alone"))
	r.says("shops", "Conflicts 1/1/0/1/0")
	r.saidOf("KafkaBridge", "x", ReasonConflict, "belongs to the Shop first")
	same(t, before, r.account("x-bridge"))

	// Now it goes: the other has it then, and what Holdfast had set for the first is gone.
	r.kubectl("delete", "shop."+group, "first", "-n", r.namespace)
	if after := r.becomes("x-bridge", "mine=1"); after.UID != before.UID {
		t.Error("it was made anew")
	}
	r.Eventually(func() string { return r.account("x-bridge").Labels["strimzi.io/kind"] }).WithTimeout(patience).WithPolling(often).Should(gomega.Equal("KafkaBridge"))

	r.accountsMayNotBeRead(t, keep)
}
