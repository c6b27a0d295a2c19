// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

// kind defines one of a test's own, with a spec of any shape, and returns its group once it is served.
func (r *rig) kind(name string) (group string) {
	r.t.Helper()
	group = r.namespace + ".example.com"
	r.apply(fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]ss.%[3]s}
spec:
  group: %[3]s
  scope: Namespaced
  names: {kind: %[1]s, listKind: %[1]sList, plural: %[2]ss, singular: %[2]s}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`, name, strings.ToLower(name), group))
	crd := strings.ToLower(name) + "s." + group
	r.atEnd(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), crd)
	r.Eventually(func() error {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: name})
		return r.Client.List(r.t.Context(), list, client.InNamespace(r.namespace))
	}).WithTimeout(patience).WithPolling(often).Should(gomega.Succeed())
	return group
}

// template makes a ServiceAccountTemplate of the test's own.
func (r *rig) template(name, spec string) {
	r.t.Helper()
	r.apply("apiVersion: holdfast.dev/v1alpha1\nkind: ServiceAccountTemplate\nmetadata: {name: " + name + "}\nspec:\n" + spec)
	r.atEnd(v1alpha1.GroupVersion.WithKind("ServiceAccountTemplate"), name)
}

// says waits until the status of a template is such: the reason of Ready, and objects,
// accounts, pending, conflicts and errors.
func (r *rig) says(name, want string) *v1alpha1.ServiceAccountTemplate {
	r.t.Helper()
	out := &v1alpha1.ServiceAccountTemplate{}
	r.Eventually(func(ctx context.Context) (string, error) {
		err := r.Client.Get(ctx, types.NamespacedName{Name: name}, out)
		ready := meta.FindStatusCondition(out.Status.Conditions, v1alpha1.ConditionReady)
		if err != nil || ready == nil {
			return "", err
		}
		s := out.Status
		return fmt.Sprintf("%s %d/%d/%d/%d/%d", ready.Reason, s.Objects, s.Accounts, s.Pending, s.Conflicts, s.Errors), nil
	}).WithContext(r.t.Context()).WithTimeout(patience).WithPolling(often).Should(gomega.Equal(want))
	return out
}

func TestTemplate_ofAnyKind(t *testing.T) {
	t.Parallel()
	r := shared(t)
	name := r.namespace
	group := r.namespace + ".example.com"
	r.template(name, "  source: {group: "+group+`, kind: Shop}
  accounts:
  - {id: front, name: "${self.metadata.name}-front", template: .spec.account, labels: {shop: "${self.metadata.name}"}, ownerReference: {}}
  - {id: worker, name: "${self.metadata.name}-worker", enabled: has(self.spec.worker), template: .spec.worker.account, ownerReference: {}}
`)
	r.says(name, "KindMissing 0/0/0/0/0")
	r.kind("Shop")
	r.says(name, "InForce 0/0/0/0/0")
	shop := func(spec string) {
		r.apply("apiVersion: " + group + "/v1\nkind: Shop\nmetadata: {name: a}\nspec: {" + spec + "}\n")
	}
	shop("account: {metadata: {annotations: {x: one}}}, worker: {n: 1}")
	r.becomes("a-front", "shop=a @x=one")
	r.becomes("a-worker", "")
	if out := r.says(name, "InForce 1/2/0/0/0"); out.Status.Version != "v1" {
		t.Errorf("version %q, want the one that is served", out.Status.Version)
	}
	shop("account: {metadata: {annotations: {x: two}}}")
	r.becomes("a-front", "shop=a @x=two")
	r.becomes("a-worker", "none")

	// The template changes: what it does not say any more goes.
	r.template(name, "  source: {group: "+group+`, kind: Shop}
  accounts:
  - {id: front, name: "${self.metadata.name}-front", labels: {market: "${self.metadata.name}"}, ownerReference: {}}
`)
	r.becomes("a-front", "market=a")
}

func TestTemplate_thatIsGoneGivesBackWhatWasThereBefore(t *testing.T) {
	t.Parallel()
	r := shared(t)
	group := r.kind("Shop")
	r.makeAccount("a-front", map[string]string{"mine": "1"}, nil)
	r.template(r.namespace, "  source: {group: "+group+`, kind: Shop}
  accounts: [{id: front, name: "${self.metadata.name}-front", labels: {shop: "${self.metadata.name}"}, ownerReference: {}}]
`)
	r.apply("apiVersion: " + group + "/v1\nkind: Shop\nmetadata: {name: a}\nspec: {n: 1}\n")
	r.becomes("a-front", "mine=1 shop=a")
	r.kubectl("delete", "serviceaccounttemplate", r.namespace)
	r.becomes("a-front", "mine=1")
}

// An account that was made for an object goes with it, and not with the template; what
// the template said of it goes.
func TestTemplate_thatIsGoneTakesItsKeysFromWhatItsObjectsOwn(t *testing.T) {
	t.Parallel()
	r := shared(t)
	group := r.kind("Shop")
	r.template(r.namespace, "  source: {group: "+group+`, kind: Shop}
  accounts:
  - {id: front, name: "${self.metadata.name}-front", labels: {shop: "${self.metadata.name}"}, ownerReference: {}}
  - {id: back, name: "${self.metadata.name}-back", labels: {shop: "${self.metadata.name}"}, ownerReference: {}}
`)
	r.apply("apiVersion: " + group + "/v1\nkind: Shop\nmetadata: {name: a}\nspec: {n: 1}\n")
	front := r.becomes("a-front", "shop=a")
	back := r.becomes("a-back", "shop=a")
	r.template(r.namespace, "  source: {group: "+group+`, kind: Shop}
  accounts: [{id: front, name: "${self.metadata.name}-front", labels: {shop: "${self.metadata.name}"}, ownerReference: {}}]
`)
	plain := func(before *corev1.ServiceAccount) {
		t.Helper()
		r.Eventually(func() string { return r.custom(before.Name) }).WithTimeout(timing.Production().AccountsCollected+patience).WithPolling(often).Should(gomega.Equal(""), before.Name)
		if now := r.account(before.Name); now.UID != before.UID || !cmp.Equal(now.OwnerReferences, before.OwnerReferences) {
			t.Errorf("it is another account, or another's: %+v", now.ObjectMeta)
		}
	}
	plain(back)
	r.becomes("a-front", "shop=a")
	r.kubectl("delete", "serviceaccounttemplate", r.namespace)
	plain(front)
	r.kubectl("delete", "shop."+group, "a", "-n", r.namespace)
	r.becomes("a-front", "none")
	r.becomes("a-back", "none")
}

// Whoever deletes an object and wants what belongs to it to stay has it stay as it is.
func TestOrphans_stayAsTheyAre(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.makeAccount("adopted-connect", map[string]string{"mine": "1"}, nil)
	r.apply(connect("adopted", "note: x") + "---\n" + connect("made", role+": arn"))
	r.becomes("made-connect", "@"+role+"=arn")
	before := r.becomes("adopted-connect", "mine=1 @note=x")
	r.kubectl("delete", "kafkaconnect", "adopted", "made", "-n", r.namespace, "--cascade=orphan")
	for _, name := range []string{"made-connect", "adopted-connect"} {
		r.Eventually(func() bool {
			a := r.account(name)
			return len(a.OwnerReferences) == 0 && !slices.ContainsFunc(a.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == plan.FieldManager })
		}).WithTimeout(patience).WithPolling(often).Should(gomega.BeTrue(), name)
	}
	r.fence("after")
	r.becomes("made-connect", "@"+role+"=arn")
	if now := r.becomes("adopted-connect", "mine=1 @note=x"); now.UID != before.UID || !cmp.Equal(now.Labels, before.Labels) {
		t.Errorf("it is another: %+v", now.ObjectMeta)
	}
	// It may be had again: the template goes on where it stopped, but for an identity of an account that no object owns.
	r.apply(connect("adopted", "note: again"))
	r.becomes("adopted-connect", "mine=1 @note=again")
	r.apply(connect("made", role+": arn-2"))
	r.saidOf("KafkaConnect", "made", ReasonConflict, role)
	// Twice within the time in which a former manager counts as one that runs.
	r.kubectl("delete", "kafkaconnect", "adopted", "-n", r.namespace, "--cascade=orphan")
	r.Eventually(func() bool {
		return slices.ContainsFunc(r.account("adopted-connect").ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == plan.OrphanManager })
	}).WithTimeout(patience).WithPolling(often).Should(gomega.BeTrue())
	r.apply(connect("adopted", "note: thrice"))
	r.becomes("adopted-connect", "mine=1 @note=thrice")
}

func TestTemplate_withMistakesIsRefused(t *testing.T) {
	t.Parallel()
	r := shared(t)
	in := &v1alpha1.ServiceAccountTemplate{}
	in.Name = r.namespace
	in.Spec.Source = v1alpha1.TemplateSource{Group: "example.com", Kind: "Shop"}
	in.Spec.Accounts = []v1alpha1.AccountTemplate{{ID: "a", Name: "${self.metadata.}", Enabled: "1 +"}}
	var err error
	r.Eventually(func() error { // the webhook may be on its way still
		err = r.Client.Create(t.Context(), in.DeepCopy(), client.DryRunAll)
		return err
	}).WithTimeout(patience).WithPolling(often).ShouldNot(gomega.Succeed())
	for _, path := range []string{"spec.accounts[0].name", "spec.accounts[0].enabled"} {
		if !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want the path %s in it", err, path)
		}
	}
}

func TestTemplates_thatWantOneAccount(t *testing.T) {
	t.Parallel()
	r := shared(t)
	group := r.kind("Shop")
	for _, which := range []string{"a", "b"} {
		r.template(r.namespace+"-"+which, "  source: {group: "+group+`, kind: Shop}
  accounts: [{id: front, name: "${self.metadata.name}-front", labels: {by: `+which+`}, ownerReference: {}}]
`)
	}
	r.apply("apiVersion: " + group + "/v1\nkind: Shop\nmetadata: {name: s}\nspec: {n: 1}\n")
	r.becomes("s-front", "by=a")
	r.says(r.namespace+"-a", "Conflicts 1/1/0/1/0")
	r.says(r.namespace+"-b", "Conflicts 1/1/0/1/0")
	r.saidOf("Shop", "s", ReasonConflict, "belongs to the Shop s")
}

// TestFight has somebody who sets a key again each time that Holdfast does: Holdfast
// says so and leaves it to them, although its template would force it.
func TestFight_isReportedAndNotFought(t *testing.T) {
	t.Parallel()
	r := shared(t)
	group := r.kind("Shop")
	r.template(r.namespace, "  source: {group: "+group+`, kind: Shop}
  accounts: [{id: front, name: "${self.metadata.name}-front", labels: {tier: gold, quiet: "1"}, ownerReference: {}, conflicts: {default: Force}}]
`)
	r.apply("apiVersion: " + group + "/v1\nkind: Shop\nmetadata: {name: s}\nspec: {n: 1}\n")
	r.becomes("s-front", "quiet=1 tier=gold")
	rounds := 0
	r.Eventually(func() []string {
		told := r.events("Shop", "s", ReasonFight)
		if a := r.account("s-front"); a.Labels["tier"] == "gold" { // also the last that Holdfast sets, with which it is told
			a.Labels["tier"] = "lead"
			if r.Client.Update(t.Context(), a, client.FieldOwner("rival")) == nil {
				rounds++
			}
			return nil
		}
		return told
	}).WithTimeout(patience).WithPolling(often).Should(gomega.ContainElement(gomega.ContainSubstring("label tier")))
	if rounds != most+1 {
		t.Errorf("it was set %d times before it was given up, want %d", rounds, most+1)
	}
	r.kubectl("label", "serviceaccount", "s-front", "-n", r.namespace, "quiet-") // another key is still kept
	r.becomes("s-front", "quiet=1 tier=lead")
	r.says(r.namespace, "Conflicts 1/1/0/1/0")
	// Another value is another matter.
	r.template(r.namespace, "  source: {group: "+group+`, kind: Shop}
  accounts: [{id: front, name: "${self.metadata.name}-front", labels: {tier: iron}, ownerReference: {}, conflicts: {default: Force}}]
`)
	r.becomes("s-front", "tier=iron")
}

// Somebody who always deletes the account is left alone too, and told of.
func TestFight_overTheAccountItself(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.apply("apiVersion: kafka.strimzi.io/v1\nkind: KafkaBridge\nmetadata: {name: b}\nspec: {replicas: 1}\n")
	made := map[types.UID]bool{}
	r.Eventually(func() []string {
		told := r.events("KafkaBridge", "b", ReasonFight)
		if a := r.account("b-bridge"); a != nil { // also the last that Holdfast makes, with which it is told
			made[a.UID] = true
			_ = r.Client.Delete(t.Context(), a)
			return nil
		}
		return told
	}).WithTimeout(patience).WithPolling(often).Should(gomega.ContainElement(gomega.ContainSubstring("that the account is there")))
	shared(t).fence("after")
	if r.account("b-bridge") != nil || len(made) != mostWhole {
		t.Errorf("it was made %d times, want %d, and no more", len(made), mostWhole)
	}
}

// TestWebhookOnTheWay changes what Holdfast writes, in the same request.
func TestWebhookOnTheWay_isNotFoughtEither(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.apply(fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [serviceaccounts]}]
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{annotations: {"a": "by-policy"}}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}
`, r.namespace))
	r.atEnd(admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicyBinding"), r.namespace)
	r.atEnd(admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicy"), r.namespace)
	r.Eventually(func() string { // the policy takes a moment
		a := &corev1.ServiceAccount{}
		a.Namespace, a.Name = r.namespace, "probe"
		_ = r.Client.Create(t.Context(), a, client.DryRunAll)
		return a.Annotations["a"]
	}).WithTimeout(patience).WithPolling(often).Should(gomega.Equal("by-policy"))
	r.apply("apiVersion: kafka.strimzi.io/v1\nkind: KafkaBridge\nmetadata: {name: b}\nspec: {template: {serviceAccount: {metadata: {annotations: {a: by-template}}}}}\n")
	r.becomes("b-bridge", "@a=by-policy")
	r.saidOf("KafkaBridge", "b", ReasonFight, "annotation a")
	r.Eventually(func() (all string) { // it is told before the key is let go
		for _, m := range r.account("b-bridge").ManagedFields {
			all += m.FieldsV1.String()
		}
		return all
	}).WithTimeout(patience).WithPolling(often).ShouldNot(gomega.ContainSubstring(`"f:a"`))
	before := r.account("b-bridge")
	shared(t).fence("after")
	if diff := cmp.Diff(before, r.account("b-bridge")); diff != "" {
		t.Errorf("it was written again (-before +after):\n%s", diff)
	}
}
