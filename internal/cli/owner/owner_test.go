// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/cli/serviceaccount"
	"github.com/holdfast-dev/holdfast/internal/cli/sync"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const commit = "1a2b3c4aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func read[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return out
}

// factsOf are those of an object with more metadata, while RootSync shop is there or gone.
func factsOf(t *testing.T, id object.ID, metadata string, gone bool) *Facts {
	t.Helper()
	f := &Facts{ID: id, Meta: read[metav1.PartialObjectMetadata](t, `metadata: {`+metadata+`}`)}
	f.Meta.Name, f.Meta.Namespace, f.Meta.UID = id.Name, id.Namespace, "u"
	var rs *configsyncv1beta1.RootSync
	if !gone {
		rs = read[configsyncv1beta1.RootSync](t, `metadata: {name: shop, namespace: config-management-system}`)
	}
	f.Source = sync.ProvenanceOf(id, f.Meta, rs, true)
	if id.IsNamespace() {
		f.Namespace = f.Meta
	}
	return f
}

var (
	role      = object.ID{Group: "rbac.authorization.k8s.io", Kind: "Role", Namespace: "a", Name: "view"}
	pod       = object.ID{Kind: "Pod", Namespace: "a", Name: "web-1-x"}
	namespace = object.NamespaceID("a")
)

// keeper is that of a service account of Strimzi's.
var keeper = &serviceaccount.Keeper{
	Template: "strimzi-kafkaconnect", Account: "connect",
	Object: serviceaccount.Object{Group: "kafka.strimzi.io", Version: "v1", Kind: "KafkaConnect", Name: "shop"},
}

// marks are those of RootSync shop, with what else there is to annotate.
func marks(id object.ID, more string) string {
	return `annotations: {configmanagement.gke.io/managed: enabled, configsync.gke.io/resource-id: ` + id.ResourceID() +
		`, configsync.gke.io/manager: ":root_shop", configmanagement.gke.io/token: ` + commit + more + `}`
}

const file = `, configmanagement.gke.io/source-path: shop/a.yaml`

func TestAnswer(t *testing.T) {
	t.Parallel()
	const chain = `labels: {argocd.argoproj.io/instance: web}`
	tests := []struct {
		name, metadata string
		id             object.ID
		gone           bool
		with           func(*Facts)
		want           string
		by             By
	}{
		{name: "a file declares it", id: role, metadata: marks(role, file), by: ByRootSync, want: "RootSync shop (declared), commit 1a2b3c4, file shop/a.yaml"},
		{name: "the RootSync is gone", id: role, metadata: marks(role, file), gone: true, by: ByRootSync, want: "RootSync shop (declared), which is gone, commit 1a2b3c4, file shop/a.yaml"},
		{
			name: "a RepoSync keeps it", id: role, by: ByRepoSync, want: "a RepoSync of Config Sync (a_repo), file x.yaml",
			metadata: `annotations: {configmanagement.gke.io/managed: enabled, configsync.gke.io/resource-id: ` + role.ResourceID() + `, configsync.gke.io/manager: a_repo, configmanagement.gke.io/source-path: x.yaml}`,
		},
		{
			name: "a copy", id: role, metadata: `labels: {hnc.x-k8s.io/inherited-from: acme}`, by: BySource,
			want: "Role.rbac.authorization.k8s.io acme/view, of which it is a propagated copy",
		},
		{
			name: "a copy whose source is gone", id: role, metadata: `labels: {hnc.x-k8s.io/inherited-from: acme}`, by: BySource,
			with: func(f *Facts) { f.Original = Gone },
			want: "Role.rbac.authorization.k8s.io acme/view, of which it is a propagated copy; that is gone",
		},
		{
			name: "a declared object that says it is a copy", id: role, by: ByRootSync, want: "RootSync shop (declared), commit 1a2b3c4, file shop/a.yaml",
			metadata: `labels: {hnc.x-k8s.io/inherited-from: acme}, ` + marks(role, file),
		},
		{
			name: "what a controller made inherits labels, and is no application's", id: pod, metadata: chain, by: ByObject,
			with: func(f *Facts) {
				f.Chain = []Link{{ObjectRef: sync.ObjectRef{Group: "apps", Kind: "ReplicaSet", Namespace: "a", Name: "web-1"}, Controller: true, State: Present}}
				f.Top = factsOf(t, object.ID{Group: "apps", Kind: "ReplicaSet", Namespace: "a", Name: "web-1"}, "", true)
			},
			want: "ReplicaSet.apps a/web-1 (controller)",
		},
		{
			name: "the top of several is declared", id: pod, by: ByObject,
			with: func(f *Facts) {
				deploy := object.ID{Group: "apps", Kind: "Deployment", Namespace: "a", Name: "web"}
				f.Chain = []Link{
					{ObjectRef: sync.ObjectRef{Group: "apps", Kind: "ReplicaSet", Namespace: "a", Name: "web-1"}, Controller: true, State: Present},
					{ObjectRef: sync.ObjectRef(deploy), Controller: true, State: Present},
				}
				f.Top = factsOf(t, deploy, marks(deploy, file), false)
			},
			want: "ReplicaSet.apps a/web-1 (controller), up to Deployment.apps a/web, whose owner is RootSync shop (declared), commit 1a2b3c4, file shop/a.yaml",
		},
		{
			name: "what it belongs to is gone", id: pod, by: ByObject, want: "Node n, which is gone",
			with: func(f *Facts) { f.Chain = []Link{{ObjectRef: sync.ObjectRef{Kind: "Node", Name: "n"}, State: Gone}} },
		},
		{name: "Helm", id: role, by: ByTool, want: "Helm release a/shop (by its marks)", metadata: `labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: shop, meta.helm.sh/release-namespace: a}`},
		{name: "Flux", id: role, by: ByTool, want: "Flux Kustomization flux-system/apps (by its marks)", metadata: `labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}`},
		{name: "Argo CD", id: role, by: ByTool, want: "Argo CD application shop (by its marks)", metadata: `annotations: {argocd.argoproj.io/tracking-id: "shop:rbac.authorization.k8s.io/Role:a/view"}`},
		{name: "Argo CD's mark of another object", id: role, by: ByNobody, want: "nobody that left a mark", metadata: `annotations: {argocd.argoproj.io/tracking-id: "shop:rbac.authorization.k8s.io/Role:a/edit"}`},
		{name: "people", id: role, by: ByNobody, want: "nobody that left a mark; written by kubectl-create, kubectl-label", metadata: `managedFields: [{manager: kubectl-label}, {manager: kubectl-create}, {manager: kubectl-label}]`},

		{name: "a declared namespace", id: namespace, metadata: marks(namespace, file), by: ByRootSync, want: "RootSync shop (declared), commit 1a2b3c4, file shop/a.yaml"},
		{name: "an implicit namespace", id: namespace, metadata: marks(namespace, ""), by: ByRootSync, want: "RootSync shop (implicit), commit 1a2b3c4"},
		{name: "a subnamespace", id: namespace, metadata: `annotations: {hnc.x-k8s.io/subnamespace-of: acme}`, by: ByAnchor, want: "the anchor in namespace acme (subnamespace)"},
		{
			name: "an implicit namespace that an anchor claims", id: namespace, by: ByAnchor, want: "the anchor in namespace acme (subnamespace)",
			metadata: marks(namespace, `, hnc.x-k8s.io/subnamespace-of: acme`),
		},
		{
			name: "the owner is another RootSync than the one that wrote it", id: namespace, by: ByRootSync, want: "RootSync older (declared)",
			metadata: marks(namespace, `, holdfast.dev/claims: "of u, declared rootsync/config-management-system/older 2026-11-01T00:00:00Z, implicit rootsync/config-management-system/shop 2026-11-02T00:00:00Z"`),
		},
		{name: "a namespace of Flux", id: namespace, metadata: `labels: {kustomize.toolkit.fluxcd.io/name: apps}`, by: ByTool, want: "Flux Kustomization apps (by its marks)"},
		{name: "a namespace of nobody", id: namespace, by: ByNobody, want: "nobody that left a mark"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := factsOf(t, tt.id, tt.metadata, tt.gone)
			if tt.with != nil {
				tt.with(f)
			}
			got := Of(f).Owner
			if diff := cmp.Diff([]string{string(tt.by), tt.want}, []string{string(got.By), got.Text}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestAnswer_unreadable(t *testing.T) {
	t.Parallel()
	got := Of(factsOf(t, namespace, `annotations: {holdfast.dev/claims: "of u, x"}`, false))
	if got.Owner.By != ByUnknown || !strings.Contains(got.Namespace.Why, "holdfast.dev/claims cannot be read") {
		t.Errorf("got %+v and %+v", got.Owner, got.Namespace)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	const fieldsOf = `managedFields: [
		{manager: configsync.gke.io, operation: Apply, time: "2026-11-21T11:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:rules": {}, "f:metadata": {"f:labels": {"f:team": {}}}}},
		{manager: web, operation: Update, subresource: status, fieldsType: FieldsV1, fieldsV1: {"f:status": {"f:a": {}, "f:b": {}, "f:c": {}, "f:d": {}, "f:e": {}}}},
		{manager: me, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:team": {}}}}}]`
	tests := []struct {
		name, metadata string
		id             object.ID
		with           func(*Facts)
		all            bool
		want           string
	}{
		{name: "nothing to say", id: role, want: `owner: nobody that left a mark`},
		{
			name: "a declared role", id: role, metadata: fieldsOf + `, ` + marks(role, file),
			with: func(f *Facts) {
				f.Namespace = read[metav1.PartialObjectMetadata](t, `metadata: {name: a, annotations: {hnc.x-k8s.io/subnamespace-of: acme}}`)
				f.Protection = &Protection{
					Protected:   true,
					Labels:      []Label{{"holdfast.dev/deletion-protected", "Always", "protected"}},
					Protections: []Rule{{"roles", "Always", "audit"}}, Overrides: []Override{{Text: "x, Pending"}},
				}
				f.Gaps = []Gap{{"the policies", "you may not"}}
			},
			want: `owner: RootSync shop (declared), commit 1a2b3c4, file shop/a.yaml
  commit:      ` + commit + `
  RootSync:    shop, Pending: nobody has looked at it yet: if that lasts, look whether the sync of Holdfast runs: kubectl get pods -n holdfast-system
  namespace:   a: anchor/acme owns it (subnamespace)
  deletion:    protected, by holdfast.dev/deletion-protected=Always
               ResourceDeletionProtection roles (Always): audit
               DeletionOverride x, Pending
  fields of:   configsync.gke.io (Apply) 60m ago: metadata.labels[team], rules
               me (Update): metadata.labels[team]
               web (Update of status): status (5)
  not known:   the policies: you may not`,
		},
		{
			name: "all fields", id: role, metadata: fieldsOf, all: true,
			want: `owner: nobody that left a mark; written by configsync.gke.io, me, web

configsync.gke.io (Apply) 60m ago:
  metadata.labels[team]  (shared)
  rules

me (Update):
  metadata.labels[team]  (shared)

web (Update of status):
  status.a
  status.b
  status.c
  status.d
  status.e`,
		},
		{
			name: "marks of a RootSync that do not count", id: role, metadata: `annotations: {configmanagement.gke.io/managed: disabled}`,
			want: `owner: nobody that left a mark
  source:      it is kept by no RootSync: its annotation configmanagement.gke.io/managed says "disabled"`,
		},
		{
			name: "a namespace with claims, in a tree", id: namespace,
			metadata: `labels: {a.tree.hnc.x-k8s.io/depth: "0", acme.tree.hnc.x-k8s.io/depth: "1", all.tree.hnc.x-k8s.io/depth: "2", bad.tree.hnc.x-k8s.io/depth: x}, annotations: {hnc.x-k8s.io/subnamespace-of: acme,
				holdfast.dev/claims: "of u, subnamespace anchor/acme -, declared rootsync/config-management-system/shop 2026-11-01T00:00:00Z"}`,
			want: `owner: RootSync shop (declared)
  namespace:   a: rootsync/config-management-system/shop owns it (declared): declared goes before subnamespace; others that claim it: anchor/acme (subnamespace)
  claims:      declared     rootsync/config-management-system/shop, since 2026-11-01T00:00:00Z
               subnamespace anchor/acme, since before claims were written
  tree:        all > acme > a, by the anchor in acme`,
		},
		{
			name: "a namespace whose place others keep", id: namespace, metadata: `labels: {acme.tree.hnc.x-k8s.io/depth: "1"}, annotations: {hnc.x-k8s.io/managed-by: bob}`,
			want: `owner: nobody that left a mark
  namespace:   a: nobody claims it
  tree:        acme > a, kept by bob`,
		},
		{
			name: "a service account that a template keeps", id: object.ID{Kind: "ServiceAccount", Namespace: "a", Name: "shop-connect"}, metadata: `labels: {}`,
			with: func(f *Facts) { f.Keeper = keeper },
			want: `owner: ServiceAccountTemplate strimzi-kafkaconnect for KafkaConnect shop
  kept by:     ServiceAccountTemplate strimzi-kafkaconnect for KafkaConnect shop`,
		},
		{
			name: "one that a tool has made as well", id: object.ID{Kind: "ServiceAccount", Namespace: "a", Name: "shop-connect"},
			metadata: `labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: shop, meta.helm.sh/release-namespace: tools}`,
			with:     func(f *Facts) { f.Keeper = keeper },
			want: `owner: Helm release tools/shop (by its marks)
  kept by:     ServiceAccountTemplate strimzi-kafkaconnect for KafkaConnect shop
  marks of:    Helm release tools/shop`,
		},
		{
			name: "a copy with owners", id: role, metadata: `labels: {hnc.x-k8s.io/inherited-from: acme}`,
			with: func(f *Facts) {
				f.Original = Unknown
				f.Chain = []Link{{ObjectRef: sync.ObjectRef{Kind: "Service", Namespace: "a", Name: "s"}, State: Gone}}
			},
			want: `owner: Role.rbac.authorization.k8s.io acme/view, of which it is a propagated copy
  copy of:     Role.rbac.authorization.k8s.io acme/view, which could not be looked at
  belongs to:  Service a/s, which is gone`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := factsOf(t, tt.id, tt.metadata, false)
			if tt.with != nil {
				tt.with(f)
			}
			if diff := cmp.Diff(tt.want, strings.Join(Of(f).Text(noon, tt.all), "\n")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestNameOf(t *testing.T) {
	t.Parallel()
	for claimant, want := range map[string]string{
		"rootsync/config-management-system/shop": "RootSync shop",
		"anchor/acme":                            "the anchor in namespace acme",
		"flux/helmrelease/f/r":                   "Flux HelmRelease f/r",
		"flux/kustomization/~/apps":              "Flux Kustomization apps",
		"flux/other/x":                           "flux/other/x",
		"argocd/team_shop":                       "Argo CD application team_shop",
		"helm/tools/shop":                        "Helm release tools/shop",
		"configsync/%3Aroot_":                    "Config Sync (:root_)",
		"later/x":                                "later/x",
	} {
		if got := nameOf(claimant); got != want {
			t.Errorf("%s: got %q, want %q", claimant, got, want)
		}
	}
}
