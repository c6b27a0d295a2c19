// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/internal/platform/cel"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestMain(m *testing.M) {
	os.Exit(testkit.RunWith(m, testkit.Options{Manifests: []string{"config/namespaces/config-management-system.yaml"}}))
}

// The policy and Binding.owner are one rule.
func TestPolicy_decidesAsTheOwner(t *testing.T) {
	t.Parallel()
	env, err := cel.NewEnvironment("o")
	if err != nil {
		t.Fatal(err)
	}
	owned, err := env.Condition(isOwned("o"))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 1))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	names := []string{"root-reconciler", "root-reconciler-x", "root-reconciler-x-y", "root-reconciler-root-sync", "root-reconciler-", "root-reconcilerx", "default"}
	ours := 0
	for range 20_000 {
		b := Binding{
			Namespace: pick("", "shop"), Name: pick(AdminBinding, "jam", pick(names...)+"-"+pick("", "a", "0645d7191a"), pick(names...)),
			Role: roleRef(pick("ClusterRole", "Role"), pick("cluster-admin", "edit")),
		}
		for range random.IntN(3) {
			b.Subjects = append(b.Subjects, rbacv1.Subject{
				Kind: pick("ServiceAccount", "ServiceAccount", "ServiceAccount", "User"), APIGroup: pick("", "", "", rbacv1.GroupName),
				Namespace: pick(object.SyncNamespace, object.SyncNamespace, "shop", ""), Name: pick(names...),
			})
		}
		text, err := json.Marshal(b.object())
		if err != nil {
			t.Fatal(err)
		}
		var o map[string]any
		if err := json.Unmarshal(text, &o); err != nil {
			t.Fatal(err)
		}
		got, err := owned.Eval(map[string]any{"o": o})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if _, want := b.owner(); got != want {
			t.Fatalf("the policy says %t, and Holdfast %t: %s", got, want, text)
		}
		if got {
			ours++
		}
	}
	if ours < 100 {
		t.Errorf("of all bindings %d were ones of RootSyncs", ours)
	}
}

// try is something that the identity of the sync does.
type try struct {
	name string
	do   func(ctx context.Context, c client.Client) error
	// refused is in the answer; empty if it is not refused.
	refused string
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// bindingText is a binding in a namespace, or of the cluster.
func bindingText(namespace, meta, role string, subjects ...string) string {
	kind := "ClusterRoleBinding"
	if namespace != "" {
		kind, meta = "RoleBinding", meta+", namespace: "+namespace
	}
	return fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: %s, metadata: {%s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}, subjects: [%s]}",
		kind, meta, role, strings.Join(subjects, ", "))
}

const (
	aliceText = "{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}"
	xText     = "{kind: ServiceAccount, namespace: config-management-system, name: root-reconciler-x}"
	yText     = "{kind: ServiceAccount, namespace: config-management-system, name: root-reconciler-y}"
)

// Whoever has the token of the sync binds roles to the accounts of RootSyncs alone, and changes nothing else, while
// Holdfast is up or down.
func TestPolicy_boundsTheIdentityOfTheSync(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	const user = "system:serviceaccount:holdfast-system:holdfast-sync"
	every := []string{"get", "create", "update", "patch", "delete"}
	for _, who := range []string{user, "someone"} { // more than the sync has, so that it is the policy that refuses
		e.Grant(t, "", who, testkit.Rule("rbac.authorization.k8s.io", []string{"rolebindings", "clusterrolebindings"}, every...),
			testkit.Rule("rbac.authorization.k8s.io", []string{"clusterroles"}, "bind"),
			testkit.Rule("", []string{"serviceaccounts", "namespaces"}, every...), testkit.Rule("holdfast.dev", []string{"holdfasts"}, "operate"))
	}
	ns := e.Namespace(t)
	for _, text := range []string{
		bindingText(ns, "name: root-reconciler-x-own", "view", xText), bindingText(ns, "name: jam", "view", aliceText),
		bindingText(ns, "name: root-reconciler-x-changed", "view", xText, aliceText), bindingText(ns, "name: root-reconciler-x-squat", "view", aliceText),
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: root-reconciler-" + ns + ", namespace: config-management-system}}",
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: " + ns + ", namespace: config-management-system}}",
	} {
		g.Expect(e.Client.Create(t.Context(), parsed(t, text))).To(gomega.Succeed(), text)
	}
	create := func(text string) func(context.Context, client.Client) error {
		return func(ctx context.Context, c client.Client) error {
			return c.Create(ctx, parsed(t, text), client.DryRunAll)
		}
	}
	patch := func(kind, namespace, name, body string) func(context.Context, client.Client) error {
		return func(ctx context.Context, c client.Client) error {
			u := parsed(t, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: %q}}", apiOf(kind), kind, name, namespace))
			return c.Patch(ctx, u, client.RawPatch(types.MergePatchType, []byte(body)), client.DryRunAll)
		}
	}
	remove := func(kind, namespace, name string) func(context.Context, client.Client) error {
		return func(ctx context.Context, c client.Client) error {
			return c.Delete(ctx, parsed(t, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: %q}}", apiOf(kind), kind, name, namespace)), client.DryRunAll)
		}
	}
	const (
		alone   = "binds roles to the accounts of RootSyncs alone"
		only    = "changes and deletes only the bindings of RootSyncs"
		account = "writes only the ServiceAccounts of RootSyncs"
		claims  = "changes nothing of a Namespace but the annotation holdfast.dev/claims"
		labels  = `{"metadata":{"labels":{"a":"b"}}}`
		toX     = `{"subjects":[{"kind":"ServiceAccount","namespace":"config-management-system","name":"root-reconciler-x"}]}`
		toAlice = `{"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"alice"}]}`
	)
	g.Eventually(func() error {
		return create(bindingText(ns, "name: jam-2", "view", aliceText))(t.Context(), e.As(t, user))
	}, "180s", "100ms").
		Should(gomega.MatchError(gomega.ContainSubstring(PolicyName)), "the policy is not in force")
	for _, tt := range []try{
		{"a binding for an account", create(bindingText(ns, "name: root-reconciler-x-1", "edit", xText)), ""},
		{"one with a random name", create(bindingText(ns, "generateName: root-reconciler-x-", "edit", xText)), ""},
		{"cluster-admin for all accounts under another name", create(bindingText("", `name: "`+AdminBinding+`-none"`, "cluster-admin", xText)), alone},
		{"a binding of the cluster for an account", create(bindingText("", "name: root-reconciler-x-1", "view", xText)), ""},
		{"a binding for a user", create(bindingText(ns, "name: root-reconciler-x-1", "edit", aliceText)), alone},
		{"a binding for a user beside an account", create(bindingText(ns, "name: root-reconciler-x-1", "edit", xText, aliceText)), alone},
		{"a binding for two accounts", create(bindingText(ns, "name: root-reconciler-x-1", "edit", xText, yText)), alone},
		{"a binding with another name", create(bindingText(ns, "name: more", "edit", xText)), alone},
		{"the binding of all RootSyncs that are cluster-admin", create(bindingText("", `name: "`+AdminBinding+`"`, "cluster-admin", xText, yText)), ""},
		{"a user in that", create(bindingText("", `name: "`+AdminBinding+`"`, "cluster-admin", xText, aliceText)), alone},
		{"another role under its name", create(bindingText("", `name: "`+AdminBinding+`"`, "view", xText)), alone},
		{"cluster-admin for a user", create(bindingText("", "name: "+ns, "cluster-admin", aliceText)), alone},

		{"a label on a binding of its own", patch("RoleBinding", ns, "root-reconciler-x-own", labels), ""},
		{"a binding that somebody has changed, put back", patch("RoleBinding", ns, "root-reconciler-x-changed", toX), ""},
		{"another subject in a binding of its own", patch("RoleBinding", ns, "root-reconciler-x-own", toAlice), alone},
		{"a label on a tenant's binding", patch("RoleBinding", ns, "jam", labels), only},
		{"another subject in a tenant's binding under its name", patch("RoleBinding", ns, "root-reconciler-x-squat", toX), only},
		{"another subject in the binding of the guard", patch("ClusterRoleBinding", "", "holdfast-guard", toX), only},

		{"a binding of its own deleted", remove("RoleBinding", ns, "root-reconciler-x-own"), ""},
		{"a tenant's binding deleted", remove("RoleBinding", ns, "jam"), only},
		{"one that is for a tenant, too, deleted", remove("RoleBinding", ns, "root-reconciler-x-changed"), only},
		{"the binding of the guard deleted", remove("ClusterRoleBinding", "", "holdfast-guard"), only},

		{"an account of a RootSync", create("{apiVersion: v1, kind: ServiceAccount, metadata: {name: root-reconciler-new, namespace: config-management-system}}"), ""},
		{"another account", create("{apiVersion: v1, kind: ServiceAccount, metadata: {name: new, namespace: config-management-system}}"), account},
		{"an account elsewhere", create("{apiVersion: v1, kind: ServiceAccount, metadata: {name: root-reconciler-new, namespace: " + ns + "}}"), account},
		{"a label on another account", patch("ServiceAccount", object.SyncNamespace, ns, labels), account},
		{"an account of a RootSync deleted", remove("ServiceAccount", object.SyncNamespace, "root-reconciler-"+ns), ""},
		{"another account deleted", remove("ServiceAccount", object.SyncNamespace, ns), account},

		{"claims", patch("Namespace", "", ns, `{"metadata":{"annotations":{"holdfast.dev/claims":"found, declared rootsync/s/a -"}}}`), ""},
		{"a label on a Namespace", patch("Namespace", "", ns, labels), claims},
		{"an annotation on a Namespace", patch("Namespace", "", ns, `{"metadata":{"annotations":{"hnc.x-k8s.io/subnamespace-of":"shop"}}}`), claims},
		{"a finalizer on a Namespace", patch("Namespace", "", ns, `{"metadata":{"finalizers":["a.dev/b"]}}`), claims},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.do(t.Context(), e.As(t, user))
			if tt.refused == "" && err != nil || tt.refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tt.refused)) {
				t.Errorf("got %v, want %q", err, tt.refused)
			}
			if err := tt.do(t.Context(), e.As(t, "someone")); err != nil && strings.Contains(err.Error(), PolicyName) {
				t.Errorf("somebody else is refused: %v", err)
			}
		})
	}
}

func apiOf(kind string) string {
	if strings.HasSuffix(kind, "Binding") {
		return "rbac.authorization.k8s.io/v1"
	}
	return "v1"
}
