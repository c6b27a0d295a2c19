// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// The order of two requests is all that this is about: on a cluster the RoleBinding would go in any case, and before or
// after is a matter of microseconds.
func TestUnbind_copiesOfRoleBindingsGoBeforeTheirRoleChanges(t *testing.T) {
	t.Parallel()
	const gone = "DELETE rolebindings/goes"
	for _, tt := range []struct {
		name    string
		role    func(*world.CopyPlan)
		refused bool // the deletion of the RoleBinding
		want    string
		fails   bool
	}{
		{name: "the Role goes", role: removed, want: gone + ", DELETE roles/x"},
		{name: "the Role goes, whatever becomes of the RoleBinding", role: removed, refused: true, want: gone + ", DELETE roles/x"},
		{name: "a Role appears", role: func(p *world.CopyPlan) { p.Have = nil }, want: gone + ", POST roles"},
		{name: "no Role appears where the RoleBinding cannot go", role: func(p *world.CopyPlan) { p.Have = nil }, refused: true, want: gone, fails: true},
		{name: "the Role becomes the copy of another", role: func(p *world.CopyPlan) { p.Have.From = "z" }, want: gone + ", PUT roles/x"},
		{name: "the Role changes", role: func(p *world.CopyPlan) { p.Have.Digest = propagate.Digest{1} }, want: "PUT roles/x"},
		{name: "the Role is as it should be", role: func(*world.CopyPlan) {}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var got []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				_, what, _ := strings.Cut(r.URL.Path, "/namespaces/b/")
				got = append(got, r.Method+" "+what)
				w.Header().Set("Content-Type", "application/json")
				if tt.refused && strings.HasPrefix(what, "rolebindings") {
					w.WriteHeader(http.StatusForbidden)
					_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
					return
				}
				_, _ = w.Write([]byte(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"x","resourceVersion":"9"}}`))
			}))
			t.Cleanup(server.Close)
			r := newRig(t, nil)
			r.look()
			var err error
			if r.objects, err = newObjects(&rest.Config{Host: server.URL}); err != nil {
				t.Fatal(err)
			}
			role, goes, stays := place("Role.rbac.authorization.k8s.io", "b", "x"), place("RoleBinding.rbac.authorization.k8s.io", "b", "goes"), place("RoleBinding.rbac.authorization.k8s.io", "b", "stays")
			r.world.bound = map[world.CopyRef][]world.CopyRef{role: {goes, stays}}
			r.world.copies[role], r.world.copies[goes], r.world.copies[stays] = plan("Role", "x"), plan("RoleBinding", "goes"), plan("RoleBinding", "stays")
			removed(r.world.copies[goes])
			r.world.copies[goes].Explained = false // the brake would hold it
			tt.role(r.world.copies[role])
			if err := r.copy(t.Context(), item{what: aCopy, kind: role.Kind, name: "x", namespace: "b"}); (err != nil) != tt.fails {
				t.Errorf("the error is %v", err)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// plan is that of a copy in b that is as it should be.
func plan(kind, name string) *world.CopyPlan {
	source := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": "a"},
	}}
	return &world.CopyPlan{
		Kind: inventory.Kind{Resource: schema.GroupVersionResource{
			Group: "rbac.authorization.k8s.io", Version: "v1", Resource: strings.ToLower(kind) + "s",
		}, Kind: kind, CRD: true},
		Verdict: propagate.Verdict{Action: propagate.Copy}, From: &world.Source{Object: source},
		Have: &world.Copy{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: name, UID: "u", ResourceVersion: "1"}, From: "a"},
	}
}

func removed(p *world.CopyPlan) {
	p.Verdict, p.Explained = propagate.Verdict{Action: propagate.Remove}, true
}

// The brake does not hold what grants more than its source.
func TestCopy_thatIsUnsafeIsNotHeld(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.look()
	safe, unsafe := place("RoleBinding.rbac.authorization.k8s.io", "ns", "safe"), place("RoleBinding.rbac.authorization.k8s.io", "ns", "unsafe")
	r.world.copies[safe], r.world.copies[unsafe] = goes(), goes()
	r.world.copies[unsafe].Unsafe = true
	for at, want := range map[world.CopyRef]bool{safe: false, unsafe: true} {
		if got := r.removals.may(item{what: aCopy, kind: at.Kind, name: at.Name, namespace: at.Namespace}, at, r.world.copies[at]); got != want {
			t.Errorf("%s may go: %t", at.Name, got)
		}
	}
}

func TestWithheld_saysWhatToDo(t *testing.T) {
	t.Parallel()
	source := &propagate.Source{Role: "dba\n"}
	got := withheld(source, []world.Withheld{
		{Namespace: "a", Reason: propagate.RoleDiffers}, {Namespace: "b", Reason: propagate.RoleNotCopied}, {Namespace: "c", Reason: propagate.RoleDiffers},
		{Namespace: "d", Reason: propagate.RoleDiffers}, {Namespace: "e", Reason: propagate.RoleDiffers}, {Namespace: "f", Reason: propagate.RoleDiffers},
	})
	want := []string{
		`is not copied to b, where it would not grant what it grants here: the Role "dba\n", to which it refers, is not copied there: ` +
			`take away what excludes that, exclude the RoleBinding too, or let it refer to a ClusterRole`,
		`is not copied to a, c, d, 2 more, where it would not grant what it grants here: the Role "dba\n" there is not a copy of the one to which it refers: ` +
			`rename one of them, exclude the RoleBinding, or let it refer to a ClusterRole`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
