// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

type diffWorld struct {
	env *testkit.Env
	// namespace of most objects, and one that goes with what is in it.
	namespace, released string
	owner               map[string]types.UID
	fixtures            []diffFixture
	made                map[int]bool // which of them are in the cluster
	clients             map[string]client.Client
	warnings            map[string]*warnings
	config              configv1alpha1.DeletionConfiguration
	rules               policy.Rules
}

// diffGroups are those of the kinds in which every user has all rights, and diffEverything is the user that passes for
// one with all rights everywhere.
var diffGroups = []string{"", "apps", "networking.k8s.io", policy.CustomResourceDefinitions.Group}

const diffEverything = "system:serviceaccount:other:everything"

func emptyDiffWorld() *diffWorld {
	c := configv1alpha1.DeletionConfiguration{
		Mode:   configv1alpha1.ModeEnforce,
		Labels: configv1alpha1.DeletionLabels{Karmada: configv1alpha1.LabelOpen, Kruise: configv1alpha1.LabelOpen},
		Overrides: configv1alpha1.OverridesConfiguration{
			MaxDuration: metav1.Duration{Duration: time.Hour}, Approval: configv1alpha1.ApprovalNotRequired,
		},
	}
	return &diffWorld{
		namespace: "shop", released: "released", owner: map[string]types.UID{}, fixtures: fixtures(),
		clients: map[string]client.Client{}, warnings: map[string]*warnings{}, config: c, rules: policy.NewRules(c),
	}
}

// newDiffWorld makes every object that a case can start from, and after that the
// policies, because those would refuse some. No manager runs: it would put the
// marks right.
func newDiffWorld(t testing.TB) *diffWorld {
	t.Helper()
	w := emptyDiffWorld()
	w.env = testkit.New(t, testkit.Options{NoManager: true})
	w.namespace, w.released = w.env.Namespace(t), w.env.Namespace(t)
	for _, ns := range []string{w.namespace, w.released} {
		w.owner[ns] = configMap(t, w.env, ns, "owner").UID
	}
	probe := configMap(t, w.env, w.released, "probe", strict+"=Always")
	for _, user := range diffUsers {
		w.welcome(t, user)
	}
	w.made = map[int]bool{}
	for _, n := range diffNumbers() {
		w.made[fixtureOf(n)] = true
	}
	if !testing.Short() { // a fuzzer chooses among all
		for i := range w.fixtures {
			w.made[i] = true
		}
	}
	var group errgroup.Group
	group.SetLimit(16)
	for i := range w.made {
		group.Go(func() error { return w.make(t.Context(), i) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	w.release(t)
	w.install(t)
	gomega.NewWithT(t).Eventually(func() error {
		return w.env.Client.Delete(t.Context(), probe.DeepCopy(), client.DryRunAll)
	}, "180s", "50ms").Should(gomega.Succeed(), "the API server does not see that the namespace goes with what is in it")
	return w
}

// welcome makes a client for a user and gives the user rights.
func (w *diffWorld) welcome(t testing.TB, user string) {
	t.Helper()
	e := w.env
	rules := make([]rbacv1.PolicyRule, 0, 4)
	for _, group := range diffGroups {
		rules = append(rules, testkit.Rule(group, []string{"*"}, "*"))
	}
	if user == "star" {
		rules = append(rules, testkit.Rule(v1alpha1.GroupName, []string{"*"}, "*"))
	}
	e.Grant(t, "", user, rules...)
	switch user {
	case "unprotector":
		mayUnprotect(t, e, "", user)
	case "ns-unprotector":
		mayUnprotect(t, e, w.namespace, user)
	case "bypasser":
		e.Grant(t, "", user, testkit.Rule(v1alpha1.GroupName, []string{v1alpha1.UnprotectResource}, v1alpha1.BypassVerb))
	case "bypasser-of-one":
		mayBypassOne(t, e, user, "one")
	case diffEverything:
		e.Grant(t, "", user, testkit.Rule(policy.Nothing.Group, []string{policy.Nothing.Resource}, "update"))
	}
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

// mayBypassOne grants the verb on one protection by its name.
func mayBypassOne(t testing.TB, e *testkit.Env, user, protection string) {
	t.Helper()
	rule := testkit.Rule(v1alpha1.GroupName, []string{v1alpha1.UnprotectResource}, v1alpha1.BypassVerb)
	rule.ResourceNames = []string{protection}
	for _, o := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		},
	} {
		if err := e.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// make brings a fixture to the cluster.
func (w *diffWorld) make(ctx context.Context, i int) error {
	o := w.fixture(i)
	status := o.Object["status"]
	if w.fixtures[i].terminating {
		o.SetFinalizers([]string{"example.com/hold"})
	}
	binds := o.GetLabels()[v1alpha1.MarkedLabel] == diffBound
	if err := w.env.Client.Create(ctx, o); err != nil {
		return err
	}
	if binds {
		if err := w.env.Client.Patch(ctx, o, mergeLabels(map[string]any{v1alpha1.MarkedLabel: o.GetUID()})); err != nil {
			return err
		}
	}
	if status != nil {
		o.Object["status"] = status
		if err := w.env.Client.Status().Update(ctx, o); err != nil {
			return err
		}
	}
	if w.fixtures[i].terminating {
		return w.env.Client.Delete(ctx, o, client.GracePeriodSeconds(0))
	}
	return nil
}

// release deletes a namespace together with what is in it, as an override of the
// contents lets it, and keeps the namespace controller from its work.
func (w *diffWorld) release(t testing.TB) {
	t.Helper()
	const controller = "system:serviceaccount:kube-system:namespace-controller"
	asController := w.env.As(t, controller)
	w.refuse(t, "hold", "request.userInfo.username == '"+controller+"' && request.namespace == '"+w.released+"'", func() error {
		return asController.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(w.released), &client.DeleteAllOfOptions{
			DeleteOptions: client.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
		})
	})
	namespace := &corev1.Namespace{}
	if err := w.env.Client.Get(t.Context(), client.ObjectKey{Name: w.released}, namespace); err != nil {
		t.Fatal(err)
	}
	if err := w.env.Client.Patch(t.Context(), namespace, mergeLabels(map[string]any{v1alpha1.OverrideContentsMark: "true", v1alpha1.MarkedLabel: namespace.UID})); err != nil {
		t.Fatal(err)
	}
	if err := w.env.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
}

// install brings the policies to the cluster as they are declared, and a last one
// of the test's own that shows when the API server acts on all of them.
func (w *diffWorld) install(t testing.TB) {
	t.Helper()
	declared := append(deletion.Policies(deletion.PolicyOptions{Config: w.config}), marks.Policies(configv1alpha1.ModeEnforce, nil)...)
	for _, p := range declared {
		for i := range p.Spec.Validations {
			p.Spec.Validations[i].Reason = ptr.To(metav1.StatusReasonForbidden)
		}
		w.bind(t, p.Name, p.Spec, admission.Actions(p.Mode, p.WarnOnly))
	}
	w.refuse(t, "last", "request.operation == 'CREATE' && request.name == 'last'", func() error {
		return w.env.Client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "last"}}, client.DryRunAll)
	})
	if err := w.env.WaitEnforced(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (w *diffWorld) bind(t testing.TB, name string, spec admissionregistrationv1.ValidatingAdmissionPolicySpec, actions []admissionregistrationv1.ValidationAction) {
	t.Helper()
	for _, o := range []client.Object{
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec},
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: actions},
		},
	} {
		if err := w.env.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// refuse makes a policy of the test's own, and waits until a request that it is
// about is refused by it.
func (w *diffWorld) refuse(t testing.TB, name, condition string, request func() error) {
	t.Helper()
	all := []string{"*"}
	w.bind(t, name, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Delete},
				Rule:       admissionregistrationv1.Rule{APIGroups: all, APIVersions: all, Resources: all},
			},
		}}},
		MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "condition", Expression: condition}},
		Validations:     []admissionregistrationv1.Validation{{Expression: "false", Message: name, Reason: ptr.To(metav1.StatusReasonForbidden)}},
	}, []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny})
	gomega.NewWithT(t).Eventually(func() bool {
		err := request()
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+name+"'")
	}, "180s", "50ms").Should(gomega.BeTrue(), "the API server does not act on the policy %s", name)
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
