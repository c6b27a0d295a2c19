// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregated_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/aggregated"
)

const (
	soon  = "180s"
	often = "50ms"
)

// protected are the labels of an object that nobody may delete.
func protected() map[string]string {
	return map[string]string{v1alpha1.DeletionProtectedLabel: v1alpha1.ProtectAlways}
}

// TestServers uses one cluster for everything, because both groups can be in it side by side.
func TestServers(t *testing.T) {
	e := testkit.New(t, testkit.Options{})
	aggregated.Start(t, e, aggregated.WithAdmission)
	aggregated.Start(t, e, aggregated.WithoutAdmission)

	t.Run("admission", func(t *testing.T) { testAdmission(t, e) })
	for _, g := range []aggregated.Group{aggregated.WithAdmission, aggregated.WithoutAdmission} {
		t.Run(string(g), func(t *testing.T) {
			t.Parallel()
			t.Run("kubectl applies, shows and deletes", func(t *testing.T) { testKubectl(t, e, g) })
			t.Run("metadata is watched without the content", func(t *testing.T) { testMetadata(t, e, g) })
			t.Run("a dry run changes nothing", func(t *testing.T) { testDryRun(t, e, g) })
			t.Run("users are themselves and have their own rights", func(t *testing.T) { testUsers(t, e, g) })
			t.Run("a namespace takes its objects with it", func(t *testing.T) { testNamespace(t, e, g) })
		})
	}
}

// testAdmission shows that what keeps objects of the cluster keeps those of an aggregated API only where
// its server asks.
func testAdmission(t *testing.T, e *testkit.Env) {
	for _, tt := range []struct {
		name  string
		group aggregated.Group
		want  string // how the refusal begins, with the object's name left open; or empty
	}{
		{
			name:  "a server that runs admission refuses to delete a protected object",
			group: aggregated.WithAdmission,
			// Of the message only the beginning: all of it is tested where it is made.
			want: `flunders.with-admission.example.org %q is forbidden: ` +
				"ValidatingAdmissionPolicy 'holdfast-deletion-holdfast' with binding 'holdfast-deletion-holdfast' denied request: " +
				"flunders.with-admission.example.org/kept is protected from deletion",
		},
		{
			name:  "a server that runs none deletes it",
			group: aggregated.WithoutAdmission,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ns := e.Namespace(t)
			kept := tt.group.New(ns, "kept", protected())
			if err := e.Client.Create(t.Context(), kept); err != nil {
				t.Fatal(err)
			}
			for _, way := range []struct {
				name, calls string // the object, in the refusal
				do          func() error
			}{
				{"in a dry run", "kept", func() error { return e.Client.Delete(t.Context(), kept, client.DryRunAll) }},
				// A request for a collection has no name that the API server could repeat.
				{"in a dry run for a collection", "Unknown", func() error {
					return e.Client.DeleteAllOf(t.Context(), kept, client.InNamespace(ns), client.DryRunAll)
				}},
				{"by name", "kept", func() error { return e.Client.Delete(t.Context(), kept) }},
			} {
				err := way.do()
				if tt.want == "" {
					if err != nil {
						t.Errorf("%s: refused: %v", way.name, err)
					}
					continue
				}
				if want := fmt.Sprintf(tt.want, way.calls); !apierrors.IsForbidden(err) || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%s: got %v, want a 403 that begins with %s", way.name, err, want)
				}
			}
			err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(kept), kept)
			if gone := apierrors.IsNotFound(err); gone != (tt.want == "") {
				t.Errorf("afterwards get says %v", err)
			}
		})
	}
}

func testKubectl(t *testing.T, e *testkit.Env, g aggregated.Group) {
	ns := e.Namespace(t)
	manifest, err := json.Marshal(g.New(ns, "shown", map[string]string{"app": "web"}))
	if err != nil {
		t.Fatal(err)
	}
	full := aggregated.Resource + "." + string(g)
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"apply", "--server-side", "-f", "-"}, "flunder." + string(g) + "/shown serverside-applied"},
		{[]string{"apply", "-f", "-"}, "flunder." + string(g) + "/shown configured"},
		{[]string{"patch", full, "shown", "-n", ns, "--type=merge", "-p", `{"spec":{"text":"hello"}}`}, "patched"},
		{[]string{"get", full, "-n", ns, "-l", "app=web", "-o", "jsonpath={.items[*].spec.text}"}, "hello"},
		{[]string{"get", full, "-n", ns}, "CREATED AT"}, // a table, made by the server
		{[]string{"explain", full + ".spec"}, "text"},
		{[]string{"delete", full, "--all", "-n", ns}, `"shown" deleted`},
	} {
		out := e.KubectlInput(t, string(manifest), step.args...)
		if out.Code != 0 || !strings.Contains(out.Stdout, step.want) {
			t.Fatalf("kubectl %s: exit code %d, want %q:\n%s%s", strings.Join(step.args, " "), out.Code, step.want, out.Stdout, out.Stderr)
		}
	}
}

func testMetadata(t *testing.T, e *testkit.Env, g aggregated.Group) {
	ns := e.Namespace(t)
	watcher, err := client.NewWithWatch(e.Config, client.Options{Scheme: e.Client.Scheme(), Mapper: e.Client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	o := g.New(ns, "watched", protected())
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(o.GroupVersionKind().GroupVersion().WithKind(aggregated.Kind + "List"))
	w, err := watcher.Watch(t.Context(), list, client.InNamespace(ns))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := e.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var event watch.Event
	gomega.NewWithT(t).Eventually(w.ResultChan(), soon).Should(gomega.Receive(&event))
	got, ok := event.Object.(*metav1.PartialObjectMetadata)
	if !ok || event.Type != watch.Added {
		t.Fatalf("got the event %v", event)
	}
	if diff := cmp.Diff(protected(), got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func testDryRun(t *testing.T, e *testkit.Env, g aggregated.Group) {
	o := g.New(e.Namespace(t), "thought-of", nil)
	if err := e.Client.Create(t.Context(), o.DeepCopy(), client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o.DeepCopy()); !apierrors.IsNotFound(err) {
		t.Errorf("after a dry run of create: %v", err)
	}
	if err := e.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := e.Client.Delete(t.Context(), o, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Errorf("after a dry run of delete: %v", err)
	}
}

// testUsers has somebody who may change objects take a label away that needs one right more, which the
// policy asks the authorizer about.
func testUsers(t *testing.T, e *testkit.Env, g aggregated.Group) {
	ns := e.Namespace(t)
	o := g.New(ns, "labelled", protected())
	if err := e.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	unlabel := func(user string) error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null}}`))
		return e.As(t, user).Patch(t.Context(), o.DeepCopy(), patch, client.DryRunAll)
	}
	change := testkit.Rule(string(g), []string{aggregated.Resource}, "get", "patch")
	e.Grant(t, ns, "changer", change)
	e.Grant(t, ns, "unprotector", change, testkit.Rule(v1alpha1.GroupName, []string{"resourcedeletionprotections"}, "unprotect"))

	for _, tt := range []struct{ user, want string }{
		{user: "nobody", want: `User "nobody" cannot patch resource "flunders"`},
		{user: "changer", want: map[aggregated.Group]string{aggregated.WithAdmission: "ValidatingAdmissionPolicy 'holdfast-deletion-holdfast-unprotect'"}[g]},
		{user: "unprotector"},
	} {
		err := unlabel(tt.user)
		if tt.want == "" && err != nil || tt.want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s takes the label away: got %v, want %q", tt.user, err, tt.want)
		}
	}
}

func testNamespace(t *testing.T, e *testkit.Env, g aggregated.Group) {
	ns := e.Namespace(t)
	if err := e.Client.Create(t.Context(), g.New(ns, "inside", nil)); err != nil {
		t.Fatal(err)
	}
	if out := e.Kubectl(t, "delete", "namespace", ns, "--wait=false"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	gomega.NewWithT(t).Eventually(func() string {
		return e.Kubectl(t, "get", "namespace", ns, "--ignore-not-found", "-o", "name").Stdout
	}, soon, often).Should(gomega.BeEmpty(), "the namespace stays")
}

func TestStart_leavesNothing(t *testing.T) {
	e := testkit.New(t, testkit.Options{NoManager: true})
	group := aggregated.WithoutAdmission
	for _, tt := range []struct {
		name string
		do   func(testing.TB, *aggregated.Server)
	}{
		{
			name: "after a test that left an object",
			do: func(t testing.TB, _ *aggregated.Server) {
				if err := e.Client.Create(t.Context(), group.New(metav1.NamespaceDefault, "left", nil)); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "after a test that ended the server, which made the API unavailable",
			do: func(t testing.TB, s *aggregated.Server) {
				left := group.New(metav1.NamespaceDefault, "left", nil)
				if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(left), left); !apierrors.IsNotFound(err) {
					t.Errorf("the object of the test before: %v", err)
				}
				s.Stop()
				gomega.NewWithT(t).Eventually(func() bool {
					return apierrors.IsServiceUnavailable(e.Client.Get(t.Context(), client.ObjectKeyFromObject(left), left))
				}, soon, often).Should(gomega.BeTrue())
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Run("the test", func(t *testing.T) { tt.do(t, aggregated.Start(t, e, group)) })
			out := e.Kubectl(t, "api-resources", "-o", "name")
			if out.Code != 0 || strings.Contains(out.Stdout, aggregated.Resource) {
				t.Errorf("kubectl api-resources: exit code %d:\n%s%s", out.Code, out.Stdout, out.Stderr)
			}
		})
	}
}
