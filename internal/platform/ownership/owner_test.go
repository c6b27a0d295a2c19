// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
)

// marks by one letter, as the tests write them: labels, and annotations below.
var (
	markLabels = map[string]map[string]string{
		"flux": {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"},
		"argo": {"argocd.argoproj.io/instance": "shop"},
		"helm": {"app.kubernetes.io/managed-by": "Helm"},
	}
	markAnnotations = map[string]map[string]string{
		"acme": {"hnc.x-k8s.io/subnamespace-of": "acme"},
		"helm": {"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "tools"},
		// What Config Sync writes on a namespace from a file, and on one that it made along the way.
		"declares": {
			"configmanagement.gke.io/managed": "enabled", "configsync.gke.io/resource-id": "_namespace_n",
			"configsync.gke.io/manager": ":root_a", "configmanagement.gke.io/source-path": "ns.yaml",
		},
		"uses": {
			"configmanagement.gke.io/managed": "enabled", "configsync.gke.io/resource-id": "_namespace_n",
			"configsync.gke.io/manager": ":root_x", "client.lifecycle.config.k8s.io/deletion": "detach",
		},
	}
)

// binds binds claims to namespace.
const binds = "of u, "

// namespace n has the marks that are named, and claims unless they are empty.
func namespace(named, annotation string) *metav1.ObjectMeta {
	o := &metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7", Labels: map[string]string{}, Annotations: map[string]string{}}
	for name := range strings.FieldsSeq(named) {
		maps.Copy(o.Labels, markLabels[name])
		maps.Copy(o.Annotations, markAnnotations[name])
	}
	if annotation != "" {
		o.Annotations[v1alpha1.ClaimsAnnotation] = binds + annotation
	}
	return o
}

// RootSyncs that upstream's marks name, and how they are written here.
const (
	declaresA = "declared rootsync/config-management-system/a"
	usesX     = "implicit rootsync/config-management-system/x"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, marks, annotation string
		// want are the claims that count, in order, as HOW CLAIMANT.
		want string
		why  string
	}{
		{name: "nothing says anything", why: "nobody claims it"},
		{name: "HNC's annotation alone is an anchor's claim", marks: "acme", want: "subnamespace anchor/acme", why: "anchor/acme owns it (subnamespace)"},
		{name: "Config Sync's marks with a file are a declaration", marks: "declares", want: declaresA},
		{name: "Config Sync's marks without one are implicit use", marks: "uses", want: usesX},
		{name: "each tool's marks", marks: "flux argo helm", want: "foreign argocd/shop, foreign flux/kustomization/flux-system/apps, foreign helm/tools/shop", why: "of one age it is the first by name"},
		{
			name: "the ranks", marks: "acme flux", annotation: "subnamespace anchor/acme 2026-11-01T00:00:00Z, declared rootsync/s/a 2026-11-09T00:00:00Z, implicit rootsync/s/b -",
			want: "declared rootsync/s/a, subnamespace anchor/acme, foreign flux/kustomization/flux-system/apps, implicit rootsync/s/b", why: "declared goes before subnamespace",
		},
		{
			name: "the oldest of one rank", annotation: "declared rootsync/s/a 2026-11-02T00:00:00Z, declared rootsync/s/b 2026-11-01T00:00:00Z",
			want: "declared rootsync/s/b, declared rootsync/s/a", why: "of these claims it is the oldest; others that claim it: rootsync/s/a (declared)",
		},
		{name: "a time that is not known is the oldest", annotation: "declared rootsync/s/a 2026-11-02T00:00:00Z, declared rootsync/s/b -", want: "declared rootsync/s/b, declared rootsync/s/a"},
		{name: "of one age the first by name", annotation: "declared rootsync/s/a -, declared rootsync/s/b -", want: "declared rootsync/s/a, declared rootsync/s/b", why: "first by name"},
		{name: "an anchor's claim goes with its mark", annotation: "subnamespace anchor/acme -, implicit rootsync/s/a -", want: "implicit rootsync/s/a"},
		{name: "a foreign claim goes with its mark", annotation: "foreign argocd/shop -", want: ""},
		{name: "moved to another parent, the new one claims", marks: "acme", annotation: "subnamespace anchor/old 2026-11-01T00:00:00Z", want: "subnamespace anchor/acme"},
		{name: "a mark that came after the claims were written is the youngest", marks: "flux argo", annotation: "foreign flux/kustomization/flux-system/apps 2026-11-09T00:00:00Z", want: "foreign flux/kustomization/flux-system/apps, foreign argocd/shop", why: "oldest"},
		{name: "a declaration in marks counts beside what is written", marks: "declares", annotation: "implicit rootsync/s/b -", want: declaresA + ", implicit rootsync/s/b"},
		{name: "of two claims of one the stronger counts", marks: "declares", annotation: "implicit rootsync/config-management-system/a -", want: declaresA},
		{name: "and it may be the one that is written", marks: "uses", annotation: "declared rootsync/config-management-system/x -", want: "declared rootsync/config-management-system/x"},
		{name: "a found namespace is nobody's by use", annotation: "found, declared rootsync/s/a -, implicit rootsync/s/b -", want: "declared rootsync/s/a"},
		{name: "a way that this version does not know comes last", annotation: "leased desk/1 -, implicit rootsync/s/b 2026-11-09T00:00:00Z", want: "implicit rootsync/s/b, leased desk/1"},
		{name: "and still it is somebody's", annotation: "leased desk/1 -", want: "leased desk/1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, err := ownership.Decide(namespace(tt.marks, tt.annotation))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, order(v)); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			if got := v.Why(); !strings.Contains(got, tt.why) {
				t.Errorf("got %q, want it with %q", got, tt.why)
			}
			owner, owned := v.Owner()
			if owned != (tt.want != "") || owned && !v.Owns(owner.Claimant) || v.Owns("nobody/x") {
				t.Errorf("owner %v, owned %t", owner, owned)
			}
		})
	}
}

// order writes the claims of a verdict without their times.
func order(v ownership.Verdict) string {
	out := make([]string, 0, len(v.Claims))
	for _, c := range v.Claims {
		out = append(out, string(c.How)+" "+c.Claimant)
	}
	return strings.Join(out, ", ")
}

func TestDecide_whatCannotBeReadDecidesNothing(t *testing.T) {
	t.Parallel()
	o := namespace("acme declares", "declared by me")
	v, err := ownership.Decide(o)
	var invalid *ownership.InvalidError
	if !errors.As(err, &invalid) || invalid.Namespace != "n" || len(v.Claims) > 0 {
		t.Errorf("got %v and %v", v, err)
	}
	for _, want := range []string{"namespace n", v1alpha1.ClaimsAnnotation, `"declared by me"`, "unprotect"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not have %q", err, want)
		}
	}
	if w, err := ownership.Rewrite(o, ownership.Change{Claim: []ownership.Claim{{How: ownership.Declared, Claimant: "rootsync/s/a"}}}, day(1)); w != nil || !errors.As(err, &invalid) {
		t.Errorf("it is written to: %v, %v", w, err)
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	managed := func(manager string) map[string]string {
		return map[string]string{"configmanagement.gke.io/managed": "enabled", "configsync.gke.io/resource-id": "_namespace_n", "configsync.gke.io/manager": manager}
	}
	with := func(m map[string]string, key, value string) map[string]string { m[key] = value; return m }
	tests := []struct {
		name                string
		labels, annotations map[string]string
		want                string
	}{
		{name: "none"},
		{name: "the RootSync that has no name in its manager", annotations: managed(":root"), want: "implicit rootsync/config-management-system/root-sync"},
		{name: "a declaration by the label of its version", labels: map[string]string{"configsync.gke.io/declared-version": "v1"}, annotations: managed(":root"), want: "declared rootsync/config-management-system/root-sync"},
		{name: "a declaration that is detached", annotations: with(with(managed(":root_a"), "configmanagement.gke.io/source-path", "x"), "client.lifecycle.config.k8s.io/deletion", "detach"), want: declaresA},
		{name: "a manager that is no RootSync", annotations: managed("team_b"), want: "foreign configsync/team_b"},
		{name: "a manager that is nothing", annotations: managed(""), want: "foreign configsync/~"},
		{name: "a root without its name", annotations: managed(":root_"), want: "foreign configsync/%3Aroot_"},
		{name: "Config Sync's marks copied from another object", annotations: with(managed(":root_a"), "configsync.gke.io/resource-id", "_namespace_other")},
		{name: "managed by hand", annotations: map[string]string{"configmanagement.gke.io/managed": "enabled"}},
		{name: "management that is off", annotations: with(managed(":root_a"), "configmanagement.gke.io/managed", "disabled")},
		{name: "an empty parent", annotations: map[string]string{"hnc.x-k8s.io/subnamespace-of": ""}},
		{name: "a HelmRelease of Flux", labels: map[string]string{"helm.toolkit.fluxcd.io/name": "r", "helm.toolkit.fluxcd.io/namespace": "f"}, want: "foreign flux/helmrelease/f/r"},
		{name: "Argo CD's tracking id", annotations: map[string]string{"argocd.argoproj.io/tracking-id": "shop:/Namespace:n/n"}, want: "foreign argocd/shop"},
		{name: "Argo CD's application of another namespace", annotations: map[string]string{"argocd.argoproj.io/tracking-id": "team_shop:/Namespace:/n"}, want: "foreign argocd/team_shop"},
		{name: "a tracking id copied from another object", annotations: map[string]string{"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:n/n"}},
		{name: "a tracking id of another namespace", annotations: map[string]string{"argocd.argoproj.io/tracking-id": "shop:/Namespace:m/m"}},
		{name: "a release that Helm would not take for its own", annotations: map[string]string{"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "n"}},
		{name: "the label of Helm alone", labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ownership.Marks(&metav1.ObjectMeta{Name: "n", Labels: tt.labels, Annotations: tt.annotations})
			if diff := cmp.Diff(tt.want, order(ownership.Verdict{Claims: got})); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	const tracking = "argocd.argoproj.io/tracking-id"
	deployment := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	tests := []struct {
		name                string
		labels, annotations map[string]string
		want                string
	}{
		{name: "Argo CD's tracking id", annotations: map[string]string{tracking: "shop:apps/Deployment:a/n"}, want: "foreign argocd/shop"},
		{name: "a tracking id of another namespace", annotations: map[string]string{tracking: "shop:apps/Deployment:b/n"}},
		{name: "a tracking id of a longer name", annotations: map[string]string{tracking: "shop:apps/Deployment:a/n-n"}},
		{name: "a tracking id of another kind", annotations: map[string]string{tracking: "shop:/Pod:a/n"}},
		{name: "Helm", labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"}, annotations: map[string]string{"meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "a"}, want: "foreign helm/a/r"},
		{name: "the marks of a namespace only", annotations: map[string]string{"hnc.x-k8s.io/subnamespace-of": "acme"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ownership.Tools(deployment, &metav1.ObjectMeta{Namespace: "a", Name: "n", Labels: tt.labels, Annotations: tt.annotations})
			if diff := cmp.Diff(tt.want, order(ownership.Verdict{Claims: got})); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzMarks lets anybody write anything into the marks: what they claim can be
// written down and read back.
func FuzzMarks(f *testing.F) {
	f.Add("n", ":root_a", "shop:/Namespace:n/n", "acme", "r")
	f.Add("", ":root_", ":", ", ", " ")
	f.Add("n", "\xff", "a:/Namespace:x/n", "found", "é")
	f.Fuzz(func(t *testing.T, name, manager, tracking, parent, release string) {
		o := &metav1.ObjectMeta{Name: name, UID: "u", Labels: map[string]string{
			"app.kubernetes.io/managed-by": "Helm", "kustomize.toolkit.fluxcd.io/name": release, "helm.toolkit.fluxcd.io/name": parent,
		}, Annotations: map[string]string{
			"configmanagement.gke.io/managed": "enabled", "configsync.gke.io/resource-id": "_namespace_" + name, "configsync.gke.io/manager": manager,
			"argocd.argoproj.io/tracking-id": tracking, "hnc.x-k8s.io/subnamespace-of": parent, "meta.helm.sh/release-name": release,
		}}
		w, err := ownership.Rewrite(o, ownership.Change{Claim: []ownership.Claim{ownership.At(ownership.Declared, "rootsync/other/new", day(1))}}, day(2))
		if err != nil || w == nil {
			t.Fatalf("got %v, %v", w, err)
		}
		marks := ownership.Marks(o)
		claims, err := ownership.Parse(strings.TrimPrefix(w.Annotation, binds))
		if err != nil || len(claims.All()) != len(marks)+1 {
			t.Errorf("%v became %q: %v", marks, w.Annotation, err)
		}
	})
}
