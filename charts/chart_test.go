// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package charts tests the chart, as it is rendered and as it is installed. It is a module of
// its own, so that Holdfast does not depend on Helm.
package charts

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/charts/render"
)

func load(t testing.TB) *chartv2.Chart {
	t.Helper()
	chart, err := render.Load("holdfast")
	if err != nil {
		t.Fatal(err)
	}
	return chart
}

func rendered(t testing.TB, values string) render.Rendered {
	t.Helper()
	return mustRender(t, load(t), values)
}

func mustRender(t testing.TB, chart *chartv2.Chart, values string) render.Rendered {
	t.Helper()
	r, err := render.Chart(t.Context(), chart, values)
	if err != nil {
		t.Fatalf("render with %q: %v", values, err)
	}
	return r
}

func objects(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	all, err := render.Objects(text)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// on are the values that switch everything on.
const on = `
configuration:
  deletion: {mode: Enforce}
  eviction: {mode: Enforce}
  hierarchy: {mode: Enforce}
  serviceAccounts: {mode: Enforce}
sync: {enabled: true}
serviceMonitor: {enabled: true}
prometheusRule: {enabled: true}
dashboard: {enabled: true}
certManager: {enabled: true}
`

func TestTemplates_makeWhatIsSwitchedOn(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, values, template, want string }{
		{name: "the anchor is part of every release", template: "anchor.yaml", want: "ClusterRole/holdfast-anchor"},
		{name: "the configuration is part of every release", template: "configuration.yaml", want: "ConfigMap/holdfast"},
		{name: "the guard has an identity", template: "guard/account.yaml", want: "ServiceAccount/holdfast-guard"},
		{
			name: "the guard has rights everywhere where deletions are guarded", template: "guard/rbac.yaml",
			want: "ClusterRole/holdfast-guard ClusterRoleBinding/holdfast-guard Role/holdfast-guard RoleBinding/holdfast-guard",
		},
		{
			name: "a list of namespaces alone has Roles in them", template: "guard/rbac.yaml",
			values: `configuration: {deletion: {mode: "Off"}, eviction: {scope: {namespaces: [a, " b "]}}}`,
			want: "ClusterRole/holdfast-guard ClusterRoleBinding/holdfast-guard Role/holdfast-guard RoleBinding/holdfast-guard " +
				"Role/default/holdfast-guard-events RoleBinding/default/holdfast-guard-events " +
				"Role/a/holdfast-guard-eviction RoleBinding/a/holdfast-guard-eviction Role/b/holdfast-guard-eviction RoleBinding/b/holdfast-guard-eviction",
		},
		{
			name: "of two lists the namespaces count that are in both", template: "guard/rbac.yaml",
			values: `configuration: {deletion: {mode: "Off"}, scope: {namespaces: [b, c]}, eviction: {scope: {namespaces: [a, b]}}}`,
			want: "ClusterRole/holdfast-guard ClusterRoleBinding/holdfast-guard Role/holdfast-guard RoleBinding/holdfast-guard " +
				"Role/default/holdfast-guard-events RoleBinding/default/holdfast-guard-events " +
				"Role/b/holdfast-guard-eviction RoleBinding/b/holdfast-guard-eviction",
		},
		{
			name: "a pattern in the list needs rights everywhere", template: "guard/rbac.yaml",
			values: `configuration: {deletion: {mode: "Off"}, eviction: {scope: {namespaces: [a, "b-*"]}}}`,
			want:   "ClusterRole/holdfast-guard ClusterRoleBinding/holdfast-guard Role/holdfast-guard RoleBinding/holdfast-guard",
		},
		{
			name: "with every feature off there is no right in other namespaces but to write Events", template: "guard/rbac.yaml",
			values: `configuration: {deletion: {mode: "Off"}, eviction: {mode: "Off"}}`,
			want: "ClusterRole/holdfast-guard ClusterRoleBinding/holdfast-guard Role/holdfast-guard RoleBinding/holdfast-guard " +
				"Role/default/holdfast-guard-events RoleBinding/default/holdfast-guard-events",
		},
		{name: "trees are off by default", template: "guard/hierarchy.yaml"},
		{
			name: "trees have rights of their own", template: "guard/hierarchy.yaml", values: "configuration: {hierarchy: {mode: Audit}}",
			want: "ClusterRole/holdfast-guard-hierarchy ClusterRoleBinding/holdfast-guard-hierarchy ClusterRole/holdfast-hierarchy-admin ClusterRole/holdfast-hierarchy-view",
		},
		{name: "service accounts are off by default", template: "guard/serviceaccounts.yaml"},
		{
			name: "service accounts have rights of their own", template: "guard/serviceaccounts.yaml", values: "configuration: {serviceAccounts: {mode: Report}}",
			want: "ClusterRole/holdfast-guard-serviceaccounts ClusterRoleBinding/holdfast-guard-serviceaccounts",
		},
		{name: "the guard runs", template: "guard/deployment.yaml", want: "Deployment/holdfast-guard"},
		{name: "the guard does not run here where it runs elsewhere", template: "guard/deployment.yaml", values: "workloads: false"},
		{name: "the API server reaches the guard", template: "guard/service.yaml", want: "Service/holdfast-guard"},
		{name: "and not where it runs elsewhere", template: "guard/service.yaml", values: "workloads: false"},
		{name: "replicas do not go all at once", template: "guard/disruptionbudget.yaml", want: "PodDisruptionBudget/holdfast-guard"},
		{name: "one replica alone stops no drain", template: "guard/disruptionbudget.yaml", values: "guard: {replicas: 1}"},
		{name: "the port of the webhooks is bounded", template: "guard/networkpolicy.yaml", want: "NetworkPolicy/holdfast-guard"},
		{name: "unless that is switched off", template: "guard/networkpolicy.yaml", values: "networkPolicy: {enabled: false}"},
		{name: "cert-manager is not asked", template: "guard/certificate.yaml"},
		{name: "cert-manager issues", template: "guard/certificate.yaml", values: "certManager: {enabled: true}", want: "Issuer/holdfast-guard Certificate/holdfast-guard"},
		{
			name: "cert-manager issues by an issuer that is there", template: "guard/certificate.yaml",
			values: "certManager: {enabled: true, issuerRef: {kind: ClusterIssuer, name: corporate}}", want: "Certificate/holdfast-guard",
		},
		{name: "the sync is off by default", template: "sync/rbac.yaml"},
		{
			name: "the sync has an identity and rights of its own", template: "sync/rbac.yaml", values: "sync: {enabled: true}",
			want: "ServiceAccount/holdfast-sync ClusterRole/holdfast-sync ClusterRoleBinding/holdfast-sync " +
				"Role/config-management-system/holdfast-sync RoleBinding/config-management-system/holdfast-sync Role/holdfast-sync RoleBinding/holdfast-sync",
		},
		{name: "the sync does not run by default", template: "sync/deployment.yaml"},
		{name: "the sync runs", template: "sync/deployment.yaml", values: "sync: {enabled: true}", want: "Deployment/holdfast-sync"},
		{name: "the sync is scraped", template: "sync/service.yaml", values: "sync: {enabled: true}", want: "Service/holdfast-sync"},
		{name: "replicas of the sync do not go all at once", template: "sync/disruptionbudget.yaml", values: "sync: {enabled: true}", want: "PodDisruptionBudget/holdfast-sync"},
		{name: "nobody reaches the sync but for metrics", template: "sync/networkpolicy.yaml", values: "sync: {enabled: true}", want: "NetworkPolicy/holdfast-sync"},
		{name: "there is no ServiceMonitor by default", template: "monitoring/servicemonitor.yaml"},
		{name: "Prometheus scrapes", template: "monitoring/servicemonitor.yaml", values: "serviceMonitor: {enabled: true}", want: "ServiceMonitor/holdfast"},
		{name: "there are no alerts by default", template: "monitoring/prometheusrule.yaml"},
		{name: "Prometheus alerts", template: "monitoring/prometheusrule.yaml", values: "prometheusRule: {enabled: true}", want: "PrometheusRule/holdfast"},
		{name: "there is no dashboard by default", template: "monitoring/dashboard.yaml"},
		{name: "Grafana draws", template: "monitoring/dashboard.yaml", values: "dashboard: {enabled: true}", want: "ConfigMap/holdfast-dashboard"},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		seen[tt.template] = true
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, o := range objects(t, rendered(t, tt.values)[tt.template]) {
				namespace := o.GetNamespace() + "/"
				if namespace == "/" || namespace == render.Namespace+"/" {
					namespace = ""
				}
				got = append(got, o.GetKind()+"/"+namespace+o.GetName())
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for name := range rendered(t, on) {
		if !seen[name] {
			t.Errorf("no test is about the template %s", name)
		}
	}
}

// at reads a field of the one object of a kind that a template makes; numbers in the path are of
// lists.
func at(t testing.TB, o *unstructured.Unstructured, path string) string {
	t.Helper()
	var value any = o.Object
	for step := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[strings.ReplaceAll(step, "|", ".")]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(v) {
				t.Fatalf("there is no %s in %v", step, v)
			}
			value = v[i]
		default:
			value = nil
		}
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestTemplates_sayWhatTheValuesSay(t *testing.T) {
	t.Parallel()
	const (
		container = "spec.template.spec.containers.0."
		secure    = "allowPrivilegeEscalation: false\ncapabilities:\n  drop:\n  - ALL\nreadOnlyRootFilesystem: true"
	)
	tests := []struct{ name, values, template, field, want string }{
		{name: "two replicas by default", template: "guard/deployment.yaml", field: "spec.replicas", want: "2"},
		{name: "a rollout whose new pods do not start, as on a configuration that is not valid, takes no old one", template: "guard/deployment.yaml", field: "spec.strategy.rollingUpdate.maxUnavailable", want: "0"},
		{name: "nothing runs as root", template: "guard/deployment.yaml", field: "spec.template.spec.securityContext.runAsNonRoot", want: "true"},
		{name: "system calls are bounded", template: "guard/deployment.yaml", field: "spec.template.spec.securityContext.seccompProfile.type", want: "RuntimeDefault"},
		{name: "the guard's container may nothing", template: "guard/deployment.yaml", field: container + "securityContext", want: secure},
		{name: "the sync's container may nothing", template: "sync/deployment.yaml", values: on, field: container + "securityContext", want: secure},
		{name: "a full node pushes out others first", template: "guard/deployment.yaml", field: "spec.template.spec.priorityClassName", want: "system-cluster-critical"},
		{name: "the class can be left out", template: "guard/deployment.yaml", values: `priorityClassName: ""`, field: "spec.template.spec.priorityClassName", want: "null"},
		{name: "replicas are spread over nodes", template: "guard/deployment.yaml", field: "spec.template.spec.topologySpreadConstraints.0.topologyKey", want: "kubernetes.io/hostname"},
		{name: "the image is that of the release", template: "guard/deployment.yaml", field: container + "image", want: "ghcr.io/holdfast-dev/holdfast-manager:0.1.0-dev"},
		{name: "a tag can be chosen", template: "guard/deployment.yaml", values: "image: {tag: v9}", field: container + "image", want: "ghcr.io/holdfast-dev/holdfast-manager:v9"},
		{
			name: "a digest goes before it", template: "guard/deployment.yaml", values: "image: {tag: v9, repository: r/m, digest: 'sha256:" + strings.Repeat("0", 64) + "'}",
			field: container + "image", want: "r/m@sha256:" + strings.Repeat("0", 64),
		},
		{
			name: "the sync can have an image with git", template: "sync/deployment.yaml", values: "{sync: {enabled: true, image: {repository: r/git}}, image: {tag: v9}}",
			field: container + "image", want: "r/git:v9",
		},
		{name: "arguments are added", template: "guard/deployment.yaml", values: "guard: {extraArgs: [--leader-elect=false]}", field: container + "args.4", want: "--leader-elect=false"},
		{name: "CRDs are not applied where they may not be", template: "guard/deployment.yaml", values: "crds: {apply: false}", field: container + "args.4", want: "--apply-crds=false"},
		{name: "variables are given", template: "guard/deployment.yaml", values: "guard: {env: [{name: STRIMZI_DRAIN_KAFKA, value: 'false'}]}", field: container + "env.0.name", want: "STRIMZI_DRAIN_KAFKA"},
		{name: "pull secrets are given", template: "guard/deployment.yaml", values: "imagePullSecrets: [{name: p}]", field: "spec.template.spec.imagePullSecrets.0.name", want: "p"},
		{name: "labels of pods are added", template: "guard/deployment.yaml", values: "guard: {podLabels: {team: a}}", field: "spec.template.metadata.labels.team", want: "a"},
		{name: "and do not take the place of the selector's", template: "guard/deployment.yaml", values: "guard: {podLabels: {app.kubernetes.io/name: a}}", field: "spec.template.metadata.labels.app|kubernetes|io/name", want: "holdfast"},
		{name: "who may reach the webhooks can be said", template: "guard/networkpolicy.yaml", values: "networkPolicy: {webhookFrom: [{ipBlock: {cidr: 10.0.0.1/32}}]}", field: "spec.ingress.0.from.0.ipBlock.cidr", want: "10.0.0.1/32"},
		{
			name: "the authorities of the webhooks' clients are mounted", template: "guard/deployment.yaml", values: "webhookClients: {configMap: ca}",
			field: container + "volumeMounts.0.mountPath", want: "/etc/holdfast/webhook-clients",
		},
		{name: "from the ConfigMap", template: "guard/deployment.yaml", values: "webhookClients: {configMap: ca}", field: "spec.template.spec.volumes.0.configMap.name", want: "ca"},
		{name: "an empty configuration leaves alone what people write", template: "configuration.yaml", field: "data", want: "null"},
		{name: "the ConfigMap is that of the release's namespace", template: "configuration.yaml", field: "metadata.namespace", want: "holdfast-system"},
		{name: "the Secret is the one that is configured", template: "guard/certificate.yaml", values: "{certManager: {enabled: true}, configuration: {certificates: {secretName: tls}}}", field: "spec.secretName", want: ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := objects(t, rendered(t, tt.values)[tt.template])
			if len(all) == 0 {
				t.Fatal("the template makes nothing")
			}
			want := tt.want
			if tt.field == "spec.secretName" {
				all, want = all[1:], "tls"
			}
			if got := at(t, all[0], tt.field); got != want {
				t.Errorf("%s is %q, want %q", tt.field, got, want)
			}
		})
	}
}

func TestConfiguration_isWhatTheManagerReads(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, values, want string }{
		{name: "modes are text, although YAML takes Off for a truth value", values: `configuration: {deletion: {mode: "Off"}}`, want: "  mode: \"Off\"\n  onOutage: Refuse\n"},
		{name: "it may say its kind", values: "configuration: {apiVersion: config.holdfast.dev/v1alpha1, kind: HoldfastConfiguration, rootSync: {requireRoleRefs: true}}", want: "rootSync:\n  claims: true\n  requireRoleRefs: true\n"},
		{name: "every feature has its switch", values: on, want: "certificates:\n"},
		{name: "cert-manager's Secret is taken", values: "certManager: {enabled: true}", want: "provider: Secret"},
		{
			name: "clients of webhooks need a certificate", values: "{webhookClients: {configMap: ca, commonNames: [api]}, configuration: {admission: {selfProtection: Warn}}}",
			want: "admission:\n  selfProtection: Warn\n  webhookClients:\n    caFile: /etc/holdfast/webhook-clients/ca.crt\n    commonNames:\n      - api\n",
		},
		{name: "scopes pass through", values: "configuration: {scope: {namespaces: ['team-*', '!team-x'], namespaceSelector: {matchLabels: {a: b}}}}", want: "- team-*\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, _, _ := unstructured.NestedString(objects(t, rendered(t, tt.values)["configuration.yaml"])[0].Object, "data", "config.yaml")
			c, err := config.Loader{}.Load([]byte(text))
			if err != nil {
				t.Fatalf("the manager refuses it: %v\n%s", err, text)
			}
			got, err := config.Encode(c)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(got), tt.want) {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestValues_areCheckedBeforeAnythingIsRendered(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, values, want string }{
		{name: "a value that is misspelt", values: "replica: 2", want: "replica"},
		{name: "a value of the guard that is misspelt", values: "guard: {replica: 2}", want: "replica"},
		{name: "a mode without quotes, which is a truth value", values: "configuration: {deletion: {mode: Off}}", want: "/configuration/deletion/mode"},
		{name: "a mode that there is not", values: "configuration: {serviceAccounts: {mode: Warn}}", want: "/configuration/serviceAccounts/mode"},
		{name: "no number of replicas", values: "guard: {replicas: two}", want: "/guard/replicas"},
		{name: "half a digest", values: "image: {digest: 'sha256:00'}", want: "/image/digest"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := render.Chart(t.Context(), load(t), tt.values)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error about %s", err, tt.want)
			}
		})
	}
}

// rights are all rules of the roles that are bound to a workload.
func rights(t testing.TB, values string) string {
	t.Helper()
	var out []string
	for _, o := range objects(t, rendered(t, values).Text()) {
		if !strings.HasSuffix(o.GetKind(), "Role") || !strings.HasPrefix(o.GetName(), "holdfast-guard") {
			continue
		}
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		for _, r := range rules {
			text, err := yaml.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(text))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "---\n")
}

func TestRights_followWhatIsSwitchedOn(t *testing.T) {
	t.Parallel()
	const off = `deletion: {mode: "Off"}, eviction: {mode: "Off"}`
	tests := []struct{ name, values, has, hasNot string }{
		{name: "who guards deletions may patch everything", values: "", has: "- '*'\nverbs:\n- get\n- list\n- watch\n- patch\n"},
		{name: "who guards nothing may not", values: "configuration: {" + off + "}", hasNot: "- '*'\n"},
		{name: "what was made can be taken away in any case", values: "configuration: {" + off + "}", has: "- holdfast-hierarchy-copies\n"},
		{name: "who guards nothing knows no pods", values: "configuration: {" + off + "}", hasNot: "- pods\n"},
		{name: "evictions need pods", values: `configuration: {deletion: {mode: "Off"}}`, has: "- pods\nverbs:\n- get\n- patch\n", hasNot: "- '*'\n"},
		{name: "answers to requests for evictions are for a feature gate", values: `configuration: {deletion: {mode: "Off"}}`, hasNot: "lifecycle.k8s.io"},
		{
			name: "and come with it", values: `configuration: {featureGates: {EvictionRequestResponder: true}, deletion: {mode: "Off"}}`, has: "lifecycle.k8s.io",
		},
		{name: "trees need no pods", values: "configuration: {" + off + ", hierarchy: {mode: Warn}}", has: "- hnc.x-k8s.io\n", hasNot: "- pods\n"},
		{name: "a report on accounts writes none", values: "configuration: {" + off + ", serviceAccounts: {mode: Report}}", has: "- serviceaccounts\nverbs:\n- get\n- list\n- watch\n", hasNot: "- serviceaccounts\nverbs:\n- get\n- list\n- watch\n- create\n"},
		{name: "further kinds are given", values: "guard: {rules: [{apiGroups: [example.com], resources: [pets], verbs: [get]}]}", has: "- example.com\n"},
		{name: "CRDs are written by name", values: "", has: "resourceNames:\n- deletionoverrides.holdfast.dev\n"},
		{name: "or not at all", values: "crds: {apply: false}", hasNot: "- deletionoverrides.holdfast.dev\n"},
		{name: "the Secret that others keep is only read", values: "certManager: {enabled: true}", hasNot: "- secrets\nverbs:\n- create\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := rights(t, tt.values)
			if !strings.Contains(got, tt.has) {
				t.Errorf("there is no\n%s\nin\n%s", tt.has, got)
			}
			if tt.hasNot != "" && strings.Contains(got, tt.hasNot) {
				t.Errorf("there is\n%s\nin\n%s", tt.hasNot, got)
			}
		})
	}
}

// The notes say how open the webhook port is.
func TestNotes_sayHowOpenThePortIs(t *testing.T) {
	t.Parallel()
	for values, open := range map[string]bool{
		"": true,
		"networkPolicy: {webhookFrom: [{ipBlock: {cidr: 10.0.0.1/32}}]}":                 false,
		"networkPolicy: {enabled: false, webhookFrom: [{ipBlock: {cidr: 10.0.0.1/32}}]}": true,
		"webhookClients: {configMap: ca}":                                                false,
		"workloads: false":                                                               false,
	} {
		notes, err := render.Notes(t.Context(), load(t), values)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(notes, "The webhook port is open to every pod of the cluster.") != open || !strings.Contains(notes, "kubectl annotate clusterrole holdfast-anchor") {
			t.Errorf("with %q:\n%s", values, notes)
		}
	}
}

func TestRelease_ownsNothingThatHasToStay(t *testing.T) {
	t.Parallel()
	for _, o := range objects(t, rendered(t, on).Text()) {
		if kind := o.GetKind(); kind == "Namespace" || kind == "CustomResourceDefinition" {
			t.Errorf("an uninstall deletes the %s %s", kind, o.GetName())
		}
	}
	if _, err := os.Stat("holdfast/crds"); err == nil {
		t.Error("Helm never upgrades what is in crds/; the manager does")
	}
}
