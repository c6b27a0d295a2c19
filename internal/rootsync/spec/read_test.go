// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// rootSync is a RootSync named root-sync with a spec.
func rootSync(t *testing.T, spec string) *configsyncv1beta1.RootSync {
	t.Helper()
	rs := &configsyncv1beta1.RootSync{}
	rs.Name, rs.Namespace = "root-sync", "config-management-system"
	if err := yaml.UnmarshalStrict([]byte(spec), &rs.Spec); err != nil {
		t.Fatal(err)
	}
	return rs
}

const plain = "{sourceFormat: unstructured, git: {repo: 'https://example.com/r', auth: none}}"

// settingsOfPlain are the defaults.
func settingsOfPlain() Settings {
	return Settings{
		Sync: "root-sync",
		Source: Source{
			Type: "git", Address: "https://example.com/r", Branch: "master", Revision: "HEAD", Dir: ".", Period: 15 * time.Second,
			Auth: "none", Depth: 1,
		},
		Statuses:         true,
		ReconcileTimeout: 5 * time.Minute,
		APIServerTimeout: 15 * time.Second,
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, spec  string
		annotations map[string]string
		want        func(*Settings)
	}{
		{"nothing but what is required", plain, nil, func(*Settings) {}},
		{
			"all of a repository", `{sourceFormat: unstructured, sourceType: git, git: {repo: "git@example.com:r.git", branch: main, revision: v1, dir: /a/./b/,
				period: 1m, auth: ssh, secretRef: {name: key}, caCertSecretRef: {name: ca}, noSSLVerify: true}}`, nil,
			func(s *Settings) {
				s.Source = Source{
					Type: "git", Address: "git@example.com:r.git", Branch: "main", Revision: "v1", Dir: "a/b", Period: time.Minute,
					Auth: "ssh", Secret: "key", CASecret: "ca", SkipTLSVerify: true, Depth: 500,
				}
			},
		},
		{
			"a proxy", `{sourceFormat: unstructured, git: {repo: "https://example.com/r", auth: token, secretRef: {name: t}, proxy: "http://proxy"}}`, nil,
			func(s *Settings) { s.Source.Auth, s.Source.Secret, s.Source.Proxy = "token", "t", "http://proxy" },
		},
		{
			"an image", `{sourceFormat: unstructured, sourceType: oci, oci: {image: "example.com/i:1", dir: a, auth: token, secretRef: {name: t}}}`, nil,
			func(s *Settings) {
				s.Source = Source{Type: "oci", Address: "example.com/i:1", Dir: "a", Period: 15 * time.Second, Auth: "token", Secret: "t"}
			},
		},
		{
			"0 stands for the defaults of durations", `{sourceFormat: unstructured, git: {repo: "https://example.com/r", auth: none, period: 0s},
				override: {reconcileTimeout: 0s, apiServerTimeout: "0"}}`, nil, func(*Settings) {},
		},
		{"HEAD is no revision of its own", "{sourceFormat: unstructured, git: {repo: 'https://example.com/r', revision: HEAD, auth: none}}", nil, func(*Settings) {}},
		{
			"the whole history", "{sourceFormat: unstructured, git: {repo: 'https://example.com/r', revision: v1, auth: none}, override: {gitSyncDepth: 0}}", nil,
			func(s *Settings) { s.Source.Revision, s.Source.Depth = "v1", 0 },
		},
		{
			"overrides", `{sourceFormat: unstructured, git: {repo: "https://example.com/r", auth: none}, override: {
				reconcileTimeout: 1h, apiServerTimeout: 3s, statusMode: disabled, namespaceStrategy: explicit}}`, nil,
			func(s *Settings) {
				s.ReconcileTimeout, s.APIServerTimeout, s.Statuses, s.ExplicitNamespaces = time.Hour, 3*time.Second, false, true
			},
		},
		{
			"roles are in order, each once", `{sourceFormat: unstructured, git: {repo: "https://example.com/r", auth: none}, override: {roleRefs: [
				{kind: Role, name: b, namespace: shop}, {kind: ClusterRole, name: a}, {kind: Role, name: b, namespace: shop}]}}`, nil,
			func(s *Settings) {
				s.Roles = []configsyncv1beta1.RoleRef{{Kind: "ClusterRole", Name: "a"}, {Kind: "Role", Name: "b", Namespace: "shop"}}
			},
		},
		{
			"a strategy by annotation", plain, map[string]string{"configsync.gke.io/namespace-strategy": "explicit"},
			func(s *Settings) { s.ExplicitNamespaces = true },
		},
		{
			"the same strategy by both", `{sourceFormat: unstructured, git: {repo: "https://example.com/r", auth: none}, override: {namespaceStrategy: explicit}}`,
			map[string]string{"configsync.gke.io/namespace-strategy": "explicit"}, func(s *Settings) { s.ExplicitNamespaces = true },
		},
		{
			"objects that go with it", plain, map[string]string{"configsync.gke.io/deletion-propagation-policy": "Foreground"},
			func(s *Settings) { s.Foreground = true },
		},
		{"an empty deletion policy", plain, map[string]string{"configsync.gke.io/deletion-propagation-policy": ""}, func(*Settings) {}},
		{"objects that stay", plain, map[string]string{"configsync.gke.io/deletion-propagation-policy": "Orphan"}, func(*Settings) {}},
		{"a suspended one", plain, map[string]string{"holdfast.dev/suspend": "true"}, func(s *Settings) { s.Suspended = true }},
		{"one that is said not to be suspended", plain, map[string]string{"holdfast.dev/suspend": "false"}, func(*Settings) {}},
		{"exact stamps", plain, map[string]string{"holdfast.dev/commit-stamp": "Exact"}, func(s *Settings) { s.ExactStamps = true }},
		{"lagging stamps", plain, map[string]string{"holdfast.dev/commit-stamp": "Lagging"}, func(*Settings) {}},
		{"a sync that is asked for", plain, map[string]string{"holdfast.dev/sync-now": "7"}, func(s *Settings) { s.SyncNow = "7" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rs := rootSync(t, tt.spec)
			rs.Annotations = tt.annotations
			before := rs.DeepCopy()
			got, err := Read(rs)
			if err != nil {
				t.Fatal(err)
			}
			want := settingsOfPlain()
			tt.want(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, rs); diff != "" {
				t.Errorf("the RootSync has changed:\n%s", diff)
			}
		})
	}
}

func annotated(key, value string) func(*configsyncv1beta1.RootSync) {
	return func(rs *configsyncv1beta1.RootSync) { rs.Annotations = map[string]string{key: value} }
}

func refused(t *testing.T, err *knv.Error, want string) {
	t.Helper()
	if err == nil || err.Code != knv.InvalidSync {
		t.Fatalf("got %v, want an invalid RootSync", err)
	}
	if diff := cmp.Diff(want, err.Text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRead_refusesByMetadata(t *testing.T) {
	t.Parallel()
	const strategy = "configsync.gke.io/namespace-strategy"
	tests := []struct {
		name   string
		change func(*configsyncv1beta1.RootSync)
		want   string
	}{
		{
			"another namespace", func(rs *configsyncv1beta1.RootSync) { rs.Namespace = "shop" },
			"RootSync objects are only allowed in the config-management-system namespace, not in shop",
		},
		{
			"a long name", func(rs *configsyncv1beta1.RootSync) { rs.Name = "abcdefghijklmnopqrstuvwxyz-abcdefghijkl" },
			"maximum length of RootSync name is 38, but found 39",
		},
		{
			"a name that no reconciler can have", func(rs *configsyncv1beta1.RootSync) { rs.Name = "A" },
			"Invalid reconciler name \"root-reconciler-A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
				"and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
				"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
		},
		{
			"an unknown deletion policy", annotated("configsync.gke.io/deletion-propagation-policy", "Background"),
			`RootSyncs which specify the annotation "configsync.gke.io/deletion-propagation-policy" must use one of the values "Foreground" or "Orphan"`,
		},
		{
			"an unknown strategy", annotated(strategy, "Explicit"),
			`the annotation "configsync.gke.io/namespace-strategy" is "Explicit": set it to "implicit" or "explicit", or remove it`,
		},
		{
			"a strategy that the field contradicts", func(rs *configsyncv1beta1.RootSync) {
				annotated(strategy, "explicit")(rs)
				rs.Spec.Override = &configsyncv1beta1.Override{NamespaceStrategy: "implicit"}
			},
			`spec.override.namespaceStrategy is "implicit" and the annotation "configsync.gke.io/namespace-strategy" is "explicit": ` +
				`remove one of them, or set both to the same`,
		},
		{"an unknown suspension", annotated("holdfast.dev/suspend", "yes"), `the annotation "holdfast.dev/suspend" is "yes": set it to "true" or "false", or remove it`},
		{
			"an unknown stamp", annotated("holdfast.dev/commit-stamp", "exact"),
			`the annotation "holdfast.dev/commit-stamp" is "exact": set it to "Exact" or "Lagging", or remove it`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rs := rootSync(t, plain)
			tt.change(rs)
			_, err := Read(rs)
			refused(t, err, tt.want)
		})
	}
}

// TestRead_ofOneThatIsWrong has what a RootSync that is deleted is torn down by.
func TestRead_ofOneThatIsWrong(t *testing.T) {
	t.Parallel()
	rs := rootSync(t, "{sourceType: helm, override: {reconcileTimeout: 1m, apiServerTimeout: never, roleRefs: [{kind: ClusterRole, name: a}]}}")
	rs.Annotations = map[string]string{"configsync.gke.io/deletion-propagation-policy": "Foreground"}
	got, err := Read(rs)
	if err == nil {
		t.Fatal("it is not refused")
	}
	want := Settings{
		Sync: "root-sync", Source: Source{Type: "helm"}, Statuses: true, ReconcileTimeout: time.Minute, APIServerTimeout: 15 * time.Second,
		Roles: []configsyncv1beta1.RoleRef{{Kind: "ClusterRole", Name: "a"}}, Foreground: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestIgnored(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, spec string
		want       []string
	}{
		{"nothing", plain, nil},
		{
			"all that is of containers", `{override: {resources: [{containerName: reconciler, cpuRequest: 1, memoryLimit: 5000000000}],
				logLevels: [{containerName: reconciler, logLevel: 5}], enableShellInRendering: true, gitSyncDepth: 3}, monitoring: {enabled: false}}`,
			[]string{"spec.override.gitSyncDepth", "spec.override.enableShellInRendering", "spec.override.logLevels", "spec.override.resources", "spec.monitoring"},
		},
		{"a depth for a branch", `{git: {branch: main}, override: {gitSyncDepth: 3}}`, []string{"spec.override.gitSyncDepth"}},
		{"a depth in which a revision is looked for", `{git: {revision: v1}, override: {gitSyncDepth: 3}}`, nil},
		{"what is as Holdfast has it anyway", "{override: {resources: [], enableShellInRendering: false}}", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Ignored(rootSync(t, tt.spec))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReach(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		roles []configsyncv1beta1.RoleRef
		want  object.Reach
	}{
		{name: "no roles", want: object.Reach{Admin: true}},
		{
			name:  "roles in namespaces",
			roles: []configsyncv1beta1.RoleRef{{Kind: "ClusterRole", Name: "a", Namespace: "x"}, {Kind: "Role", Name: "b", Namespace: "x"}, {Kind: "Role", Name: "b", Namespace: "y"}},
			want:  object.Reach{In: []string{"x", "y"}},
		},
		{
			name:  "one in the whole cluster",
			roles: []configsyncv1beta1.RoleRef{{Kind: "ClusterRole", Name: "a"}, {Kind: "Role", Name: "b", Namespace: "x"}},
			want:  object.Reach{Everywhere: true, In: []string{"x"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := Settings{Roles: roles(tt.roles)}
			if diff := cmp.Diff(tt.want, s.Reach()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
