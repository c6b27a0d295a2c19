// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// The watch tells of a condition later than the next one is due.
func TestCompletion_whileTheWatchIsBehind(t *testing.T) {
	t.Parallel()
	var said []string
	r := newRig(t, interceptor.NewClient(fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(), interceptor.Funcs{
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
			body, err := p.Data(o)
			for _, reason := range []string{"Copying", "Copied"} {
				if strings.Contains(string(body), `"`+reason+`"`) {
					said = append(said, reason)
				}
			}
			o.SetResourceVersion(strconv.Itoa(10 + len(said)))
			return err
		},
	}))
	r.look()
	ns := &corev1.Namespace{}
	ns.Name, ns.ResourceVersion = "ns", "10"
	ns.Status.Conditions = []corev1.NamespaceCondition{*unless(nil, corev1.ConditionTrue, "Copied", "everything that is copied into the namespace is there")}
	r.world.namespaces = map[string]*world.NamespacePlan{"ns": {Namespace: ns, Outcome: &tree.Outcome{Managed: true, Parent: "up"}}}
	at := place("Secret", "ns", "x")
	r.Changed(world.Dirty{Copies: sets.New(at), Moved: sets.New("ns")})
	for range 2 {
		if err := r.completion(t.Context(), "ns"); err != nil {
			t.Fatal(err)
		}
		r.progress.end(at, nil)
	}
	if got := strings.Join(said, " "); got != "Copying Copied" {
		t.Errorf("said of %s: %s", v1alpha1.ConditionPropagationComplete, got)
	}
}
