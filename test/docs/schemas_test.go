// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// create is an object as the API server would have it.
func create(t *testing.T, apiVersion, kind, content string) (*unstructured.Unstructured, error) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(content), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(metav1.NamespaceDefault)
	o.SetName("schema")
	return o, testkit.Shared(t).Client.Create(t.Context(), o, client.DryRunAll)
}

// taken looks for a text in the refusal of an object; empty if there is to be none.
func taken(t *testing.T, want string, err error) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Error(err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("got %v, want a refusal with %q", err, want)
	}
}

func decoded(t *testing.T, o *unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		t.Errorf("it is taken, and cannot be decoded: %v", err)
	}
}

func TestRootSync(t *testing.T) {
	t.Parallel()
	const repo = "git: {repo: r, auth: none}"
	tests := []struct{ name, spec, refused string }{
		{"nothing", "", ""},
		{"a format", "sourceFormat: unstructured", ""},
		{"the other format", "sourceFormat: hierarchy", ""},
		{"no format", "sourceFormat: ''", ""},
		{"an unknown format", "sourceFormat: Unstructured", "spec.sourceFormat"},
		{"an unknown type", "sourceType: svn", "spec.sourceType"},
		{"no type", "sourceType: ''", "spec.sourceType"},

		{"a repository", repo, ""},
		{"a repository without its address", "git: {auth: none}", "spec.git.repo: Required"},
		{"a repository without a way of access", "git: {repo: r}", "spec.git.auth: Required"},
		{"an unknown way of access", "git: {repo: r, auth: password}", "spec.git.auth: Unsupported"},
		{"all of a repository", `git: {repo: r, branch: b, revision: v, dir: d, period: 15s, auth: ssh, gcpServiceAccountEmail: e, proxy: p,
			secretRef: {name: s}, noSSLVerify: true, caCertSecretRef: {name: c}}`, ""},
		{"references that are null", "git: {repo: r, auth: none, secretRef: null, caCertSecretRef: null}", ""},
		{"a period that is none", "git: {repo: r, auth: none, period: often}", ""},
		{"a period that is a number", "git: {repo: r, auth: none, period: 15}", "spec.git.period"},

		{"an image", "{sourceType: oci, oci: {image: i, auth: token, secretRef: {name: s}, dir: d, period: 1m, caCertSecretRef: {name: c}}}", ""},
		{"an image without its name", "oci: {auth: none}", "spec.oci.image: Required"},
		{"a way of access of repositories", "oci: {image: i, auth: ssh}", "spec.oci.auth: Unsupported"},

		{"all of a chart", `{sourceType: helm, helm: {repo: r, chart: c, version: 1.x, releaseName: x, namespace: a, deployNamespace: b, values: {a: {b: [1]}},
			valuesFileRefs: [{name: m, dataKey: k}, {}], includeCRDs: true, period: 1h, auth: token, secretRef: {name: s}}}`, ""},
		{"a chart without its name", "helm: {repo: r, auth: none}", "spec.helm.chart: Required"},

		{"overrides that are null", "override: null", ""},
		{"a depth", "override: {gitSyncDepth: 0}", ""},
		{"a negative depth", "override: {gitSyncDepth: -1}", "spec.override.gitSyncDepth"},
		{"a status mode", "override: {statusMode: disabled}", ""},
		{"an unknown status mode", "override: {statusMode: 'on'}", "spec.override.statusMode"},
		{"a strategy", "override: {namespaceStrategy: explicit}", ""},
		{"an unknown strategy", "override: {namespaceStrategy: none}", "spec.override.namespaceStrategy: Unsupported"},
		{"an empty strategy", "override: {namespaceStrategy: ''}", "spec.override.namespaceStrategy: Unsupported"},
		{"roles", "override: {roleRefs: [{kind: Role, name: a, namespace: b}, {kind: ClusterRole, name: a}, {kind: ClusterRole, name: a}]}", ""},
		{"a role of an unknown kind", "override: {roleRefs: [{kind: Group, name: a}]}", "spec.override.roleRefs[0].kind: Unsupported"},
		{"a role without a name", "override: {roleRefs: [{kind: Role}]}", "spec.override.roleRefs[0].name: Required"},
		{"resources", "override: {resources: [{containerName: git-sync, cpuRequest: 1, cpuLimit: 5000000000, memoryRequest: 10Mi, memoryLimit: '1e1.5'}]}", ""},
		{"resources of one container twice", "override: {resources: [{containerName: git-sync}, {containerName: git-sync}, {}]}", ""},
		{"resources of an unknown container", "override: {resources: [{containerName: git}]}", "spec.override.resources[0].containerName"},
		{"resources that are none", "override: {resources: [{cpuLimit: much}]}", "spec.override.resources[0].cpuLimit"},
		{"levels of logs", "override: {logLevels: [{containerName: reconciler, logLevel: -10}, {containerName: otel-agent, logLevel: 10}]}", ""},
		{"too high a level", "override: {logLevels: [{containerName: reconciler, logLevel: 11}]}", "spec.override.logLevels[0].logLevel"},
		{"levels of one container twice", "override: {logLevels: [{containerName: reconciler, logLevel: 1}, {containerName: reconciler, logLevel: 2}]}", "Duplicate"},
		{"the rest of the overrides", "override: {reconcileTimeout: 1h, apiServerTimeout: never, enableShellInRendering: true}", ""},
		{"monitoring", "monitoring: {enabled: false}", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := map[string]any{}
			if err := yaml.Unmarshal([]byte(tt.spec), &spec); err != nil {
				t.Fatal(err)
			}
			text, err := yaml.Marshal(map[string]any{"spec": spec})
			if err != nil {
				t.Fatal(err)
			}
			for _, version := range []string{"v1beta1", "v1alpha1"} {
				o, err := create(t, configsyncv1beta1.GroupName+"/"+version, configsyncv1beta1.KindRootSync, string(text))
				taken(t, tt.refused, err)
				if err == nil {
					decoded(t, o, &configsyncv1beta1.RootSync{})
				}
			}
		})
	}
}

func TestRootSync_defaults(t *testing.T) {
	t.Parallel()
	o, err := create(t, configsyncv1beta1.GroupVersion.String(), configsyncv1beta1.KindRootSync, "spec: {git: {repo: r, auth: none}, monitoring: {}, override: {}}")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"sourceType": "git", "git": map[string]any{"repo": "r", "auth": "none"},
		"monitoring": map[string]any{"enabled": true}, "override": map[string]any{},
	}
	if diff := cmp.Diff(want, o.Object["spec"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRootSync_isOneInBothVersions also writes its status, which is apart from the rest.
func TestRootSync_isOneInBothVersions(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"sourceFormat": "unstructured"}}}
	o.SetAPIVersion(configsyncv1beta1.GroupName + "/v1alpha1")
	o.SetKind(configsyncv1beta1.KindRootSync)
	o.SetNamespace(metav1.NamespaceDefault)
	o.SetName("both")
	if err := e.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var rs configsyncv1beta1.RootSync
	key := client.ObjectKeyFromObject(o)
	if err := e.Client.Get(t.Context(), key, &rs); err != nil {
		t.Fatal(err)
	}
	if rs.Spec.SourceFormat != configsyncv1beta1.FormatUnstructured || rs.Spec.SourceType != configsyncv1beta1.SourceGit {
		t.Errorf("got %+v", rs.Spec)
	}
	rs.Spec.SourceFormat = configsyncv1beta1.FormatHierarchy
	rs.Status.Sync.Commit = "c1"
	if err := e.Client.Status().Update(t.Context(), &rs); err != nil {
		t.Fatal(err)
	}
	if err := e.Client.Get(t.Context(), key, o); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"observedGeneration": int64(0), "sync": map[string]any{"commit": "c1"}}
	if diff := cmp.Diff(want, o.Object["status"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if format, _, _ := unstructured.NestedString(o.Object, "spec", "sourceFormat"); format != "unstructured" {
		t.Errorf("with the status the spec was written: %q", format)
	}
	if err := e.Client.Delete(t.Context(), o); err != nil {
		t.Error(err)
	}
}

func TestResourceGroup(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, refused string }{
		{"nothing", "{}", ""},
		{"objects", "spec: {resources: [{group: '', kind: ConfigMap, namespace: a, name: b}, {group: rbac.authorization.k8s.io, kind: ClusterRole, namespace: '', name: c}]}", ""},
		{"an object without its group", "spec: {resources: [{kind: ConfigMap, namespace: a, name: b}]}", "spec.resources[0].group: Required"},
		{"groups and a description", "spec: {subgroups: [{namespace: a, name: b}], descriptor: {type: t, revision: r, description: d, links: [{description: d, url: u}]}}", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, err := create(t, kptv1alpha1.GroupVersion.String(), kptv1alpha1.KindResourceGroup, tt.content)
			taken(t, tt.refused, err)
			if err == nil {
				decoded(t, o, &kptv1alpha1.ResourceGroup{})
			}
		})
	}
}
