// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package builtin_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/builtin"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

func object(t *testing.T, apiVersion, kind, content string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(content), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace("kafka")
	o.SetUID("1")
	if o.GetName() == "" {
		o.SetName("my")
	}
	return o
}

func compiled(t *testing.T, pattern string) []*mapping.Mapping {
	t.Helper()
	templates, err := builtin.Templates(pattern)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]*mapping.Mapping, len(templates))
	for i := range templates {
		m, problems := mapping.Compile(&templates[i])
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if m.Source.Group != "kafka.strimzi.io" || m.Version != "" {
			t.Errorf("%s is about %v", m.Name, m.Source)
		}
		out[i] = m
	}
	return out
}

// wants are the accounts of an object of Strimzi, by name.
func wants(t *testing.T, mappings []*mapping.Mapping, version, kind, content string) map[string]mapping.Want {
	t.Helper()
	out := map[string]mapping.Want{}
	for _, m := range mappings {
		if m.Source.Kind != kind {
			continue
		}
		for _, w := range m.Wants(object(t, "kafka.strimzi.io/"+version, kind, content)) {
			out[w.Name] = w
		}
	}
	return out
}

func TestTemplates_accountsThatThereAre(t *testing.T) {
	t.Parallel()
	mappings := compiled(t, configv1alpha1.DefaultLabelsExclusionPattern)
	tests := []struct{ name, kind, content, enabled, disabled string }{
		{
			name: "a Kafka that is no more than that", kind: "Kafka", content: "spec: {kafka: {}}", enabled: "my-kafka",
			disabled: "my-cruise-control my-entity-operator my-kafka-exporter my-kafka-jmx-trans my-zookeeper",
		},
		{
			name: "a Kafka with all that it can have", kind: "Kafka",
			content: "spec: {kafka: {}, zookeeper: {}, entityOperator: {topicOperator: {}}, cruiseControl: {}, kafkaExporter: {}, jmxTrans: {}}",
			enabled: "my-cruise-control my-entity-operator my-kafka my-kafka-exporter my-kafka-jmx-trans my-zookeeper",
		},
		{
			name: "an entity operator with the user operator alone", kind: "Kafka", content: "spec: {entityOperator: {userOperator: {}}}",
			enabled: "my-entity-operator my-kafka", disabled: "my-cruise-control my-kafka-exporter my-kafka-jmx-trans my-zookeeper",
		},
		{
			name: "an entity operator that operates nothing", kind: "Kafka", content: "spec: {entityOperator: {template: {}}}",
			enabled: "my-kafka", disabled: "my-cruise-control my-entity-operator my-kafka-exporter my-kafka-jmx-trans my-zookeeper",
		},
		{
			name: "a Kafka that has moved to KRaft and still says what its ZooKeeper was", kind: "Kafka",
			content: "{metadata: {annotations: {strimzi.io/kraft: enabled}}, spec: {zookeeper: {}}}",
			enabled: "my-kafka", disabled: "my-cruise-control my-entity-operator my-kafka-exporter my-kafka-jmx-trans my-zookeeper",
		},
		{name: "a KafkaConnect", kind: "KafkaConnect", content: "spec: {}", enabled: "my-connect", disabled: "my-connect-build"},
		{name: "a KafkaConnect that builds", kind: "KafkaConnect", content: "spec: {build: {}}", enabled: "my-connect my-connect-build"},
		{name: "a KafkaMirrorMaker2", kind: "KafkaMirrorMaker2", enabled: "my-mirrormaker2"},
		{name: "a KafkaBridge", kind: "KafkaBridge", enabled: "my-bridge"},
		{name: "a KafkaMirrorMaker", kind: "KafkaMirrorMaker", enabled: "my-mirror-maker"},
		{name: "a KafkaConnectS2I", kind: "KafkaConnectS2I", enabled: "my-connect"},
		{name: "node pools share the account of their Kafka", kind: "KafkaNodePool"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, version := range []string{"v1beta2", "v1"} {
				got := wants(t, mappings, version, test.kind, test.content)
				var enabled, disabled []string
				for _, name := range slices.Sorted(maps.Keys(got)) {
					if got[name].Err != nil {
						t.Errorf("%s: %v", name, got[name].Err)
					}
					if got[name].Enabled {
						enabled = append(enabled, name)
					} else {
						disabled = append(disabled, name)
					}
				}
				if diff := cmp.Diff([]string{test.enabled, test.disabled}, []string{strings.Join(enabled, " "), strings.Join(disabled, " ")}); diff != "" {
					t.Errorf("%s: enabled and disabled (-want +got):\n%s", version, diff)
				}
			}
		})
	}
}

// labels are those that Strimzi gives an account.
func labels(kind, name, componentType string) map[string]string {
	return map[string]string{
		"strimzi.io/kind": kind, "strimzi.io/name": name, "strimzi.io/cluster": "my", "strimzi.io/component-type": componentType,
		"app.kubernetes.io/name": componentType, "app.kubernetes.io/instance": "my",
		"app.kubernetes.io/part-of": "strimzi-my", "app.kubernetes.io/managed-by": "strimzi-cluster-operator",
	}
}

func TestTemplates_whatIsOnTheAccounts(t *testing.T) {
	t.Parallel()
	mappings := compiled(t, configv1alpha1.DefaultLabelsExclusionPattern)
	const metadata = "{metadata: {labels: {label-1: l}, annotations: {anno-1: a}}}"
	tests := []struct{ name, kind, componentType, path string }{
		{"my-kafka", "Kafka", "kafka", "kafka: {template: {serviceAccount: M}}"},
		{"my-entity-operator", "Kafka", "entity-operator", "entityOperator: {userOperator: {}, template: {serviceAccount: M}}"},
		{"my-cruise-control", "Kafka", "cruise-control", "cruiseControl: {template: {serviceAccount: M}}"},
		{"my-kafka-exporter", "Kafka", "kafka-exporter", "kafkaExporter: {template: {serviceAccount: M}}"},
		{"my-zookeeper", "Kafka", "zookeeper", "zookeeper: {template: {serviceAccount: M}}"},
		{"my-kafka-jmx-trans", "Kafka", "jmx-trans", "jmxTrans: {template: {serviceAccount: M}}"},
		{"my-connect", "KafkaConnect", "kafka-connect", "template: {serviceAccount: M}"},
		{"my-connect-build", "KafkaConnect", "kafka-connect-build", "build: {}, template: {buildServiceAccount: M}"},
		{"my-mirrormaker2", "KafkaMirrorMaker2", "kafka-mirror-maker-2", "template: {serviceAccount: M}"},
		{"my-bridge", "KafkaBridge", "kafka-bridge", "template: {serviceAccount: M}"},
		{"my-mirror-maker", "KafkaMirrorMaker", "kafka-mirror-maker", "template: {serviceAccount: M}"},
		{"my-connect", "KafkaConnectS2I", "kafka-connect", "template: {serviceAccount: M}"},
	}
	for _, test := range tests {
		t.Run(test.kind+" "+test.name+" with a template", func(t *testing.T) {
			t.Parallel()
			got := wants(t, mappings, "v1", test.kind,
				"spec: {"+strings.Replace(test.path, "M", metadata, 1)+"}")[test.name]
			want := labels(test.kind, test.name, test.componentType)
			want["label-1"] = "l"
			if diff := cmp.Diff(want, got.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]string{"anno-1": "a"}, got.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			owner := &metav1.OwnerReference{
				APIVersion: "kafka.strimzi.io/v1", Kind: test.kind, Name: "my", UID: "1", BlockOwnerDeletion: new(true), Controller: new(false),
			}
			if diff := cmp.Diff(owner, got.OwnerReference); diff != "" {
				t.Errorf("owner reference (-want +got):\n%s", diff)
			}
		})
		for name, none := range map[string]string{"without a template": "null", "with an empty template": "{}"} {
			t.Run(test.kind+" "+test.name+" "+name, func(t *testing.T) {
				t.Parallel()
				got := wants(t, mappings, "v1", test.kind,
					"spec: {"+strings.Replace(test.path, "M", none, 1)+"}")[test.name]
				if diff := cmp.Diff(labels(test.kind, test.name, test.componentType), got.Labels); diff != "" {
					t.Errorf("labels (-want +got):\n%s", diff)
				}
				if got.Annotations != nil || got.Err != nil {
					t.Errorf("annotations %v and error %v, want neither", got.Annotations, got.Err)
				}
			})
		}
	}
}

func TestTemplates_labels(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 50) + "-bcdef-ghijkl-mnopq"
	const refusal = "Labels starting with strimzi.io/ are not allowed in Custom Resources, such labels should be removed."
	tests := []struct {
		name, pattern, content string
		want                   map[string]string // these, beside others; empty for none
		err                    string
	}{
		{
			name: "labels of the object are inherited, but for the pattern", pattern: configv1alpha1.DefaultLabelsExclusionPattern,
			content: "metadata: {labels: {team: a, app.kubernetes.io/version: '1', app.kubernetes.io/part-of: mine, kustomize.toolkit.fluxcd.io/name: f}}",
			want: map[string]string{
				"team": "a", "app.kubernetes.io/version": "", "kustomize.toolkit.fluxcd.io/name": "", "app.kubernetes.io/part-of": "strimzi-my",
			},
		},
		{
			name: "another pattern is for whole keys", pattern: "argocd.argoproj.io/instance|te",
			content: "metadata: {labels: {team: a, argocd.argoproj.io/instance: b, app.kubernetes.io/version: '1'}}",
			want:    map[string]string{"team": "a", "argocd.argoproj.io/instance": "", "app.kubernetes.io/version": "1"},
		},
		{
			name:    "an empty pattern excludes nothing",
			content: "metadata: {labels: {kustomize.toolkit.fluxcd.io/name: f}}",
			want:    map[string]string{"kustomize.toolkit.fluxcd.io/name": "f"},
		},
		{
			name: "the template has its say over app.kubernetes.io/*", pattern: configv1alpha1.DefaultLabelsExclusionPattern,
			content: "spec: {template: {serviceAccount: {metadata: {labels: {app.kubernetes.io/part-of: mine}}}}}",
			want:    map[string]string{"app.kubernetes.io/part-of": "mine"},
		},
		{name: "a label of Strimzi on the object is refused", content: "metadata: {labels: {strimzi.io/kind: x}}", err: refusal},
		{
			name:    "a label of Strimzi in the template is refused",
			content: "spec: {template: {serviceAccount: {metadata: {labels: {strimzi.io/name: x}}}}}", err: refusal,
		},
		{
			name:    "the label of the cluster is not refused, and says what it has to on the account",
			content: "metadata: {labels: {strimzi.io/cluster: other, strimzi.io/cluster-x: z}}",
			want:    map[string]string{"strimzi.io/cluster": "my", "strimzi.io/cluster-x": "z"},
		},
		{
			name: "a long name is cut to 63 characters", content: "metadata: {name: " + long[:62] + "}",
			want: map[string]string{
				"app.kubernetes.io/instance": long[:62],
				"app.kubernetes.io/part-of":  "strimzi-" + strings.Repeat("a", 50) + "-bcde",
			},
			err: "metadata.labels: Invalid value",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			all := wants(t, compiled(t, test.pattern), "v1", "KafkaConnect", test.content)
			var got mapping.Want
			for _, w := range all {
				if w.Account == "connect" {
					got = w
				}
			}
			if test.err != "" {
				if got.Err == nil || !strings.Contains(got.Err.Error(), test.err) {
					t.Errorf("error %v, want %s", got.Err, test.err)
				}
				return
			}
			if got.Err != nil {
				t.Error(got.Err)
			}
			for key, value := range test.want {
				if got.Labels[key] != value {
					t.Errorf("%s: %q, want %q", key, got.Labels[key], value)
				}
			}
		})
	}
}

// A name of 63 characters is that of no account, whose label strimzi.io/name would
// be longer, so the cut shows on names between.
func TestTemplates_cut(t *testing.T) {
	t.Parallel()
	mappings := compiled(t, "")
	for name, want := range map[string][2]string{
		"my":                            {"my", "strimzi-my"},
		strings.Repeat("a", 54) + "-b":  {strings.Repeat("a", 54) + "-b", "strimzi-" + strings.Repeat("a", 54)},
		strings.Repeat("a", 53) + "--b": {strings.Repeat("a", 53) + "--b", "strimzi-" + strings.Repeat("a", 53)},
	} {
		got := wants(t, mappings, "v1", "KafkaBridge", "metadata: {name: "+name+"}")[name+"-bridge"]
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		if diff := cmp.Diff(want, [2]string{got.Labels["app.kubernetes.io/instance"], got.Labels["app.kubernetes.io/part-of"]}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTemplates_sayTheDefaultPattern(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".yaml") {
			continue
		}
		content, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), "exclude: "+configv1alpha1.DefaultLabelsExclusionPattern+" ") {
			t.Errorf("%s does not have the default pattern", f.Name())
		}
	}
}

func TestReadyMade(t *testing.T) {
	t.Parallel()
	tests := []struct {
		file, apiVersion, kind, content string
		want                            map[string]string // role by name of account
	}{
		{
			file: "cloudnativepg.yaml", apiVersion: "postgresql.cnpg.io/v1", kind: "Cluster",
			content: "spec: {serviceAccountTemplate: {metadata: {annotations: {eks.amazonaws.com/role-arn: a}}}}",
			want:    map[string]string{"my": "a"},
		},
		{
			file: "example.yaml", apiVersion: "example.com/v1", kind: "Shop",
			content: "spec: {account: {}, worker: {account: {metadata: {annotations: {eks.amazonaws.com/role-arn: b}}}}}",
			want:    map[string]string{"my-front": "", "my-worker": "b"},
		},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile("../../../config/serviceaccounts/" + test.file)
			if err != nil {
				t.Fatal(err)
			}
			documents := strings.Split(string(content), "\n---\n")
			in := &v1alpha1.ServiceAccountTemplate{}
			if err := yaml.UnmarshalStrict([]byte(documents[len(documents)-1]), in); err != nil {
				t.Fatal(err)
			}
			m, problems := mapping.Compile(in)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			got := map[string]string{}
			for _, w := range m.Wants(object(t, test.apiVersion, test.kind, test.content)) {
				if w.Err != nil || m.Source.Kind != test.kind || w.OwnerReference == nil {
					t.Errorf("%+v", w)
				}
				got[w.Name] = w.Annotations["eks.amazonaws.com/role-arn"]
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("roles (-want +got):\n%s", diff)
			}
		})
	}
}
