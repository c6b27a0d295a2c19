// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate does what the guides for those who come from another project say, on a
package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/page"
)

// migration is one cluster that comes from one project after the other.
type migration struct {
	actor
	reader page.Reader
}

// TestMigrate follows each migration guide on a cluster with the objects of the project that it migrates from.
// TestAdopt follows the guide for HNC, and internal/rootsync that for Config Sync.
func TestMigrate(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	for _, from := range []struct {
		name string
		do   func(*migration)
	}{
		{"from Karmada's and OpenKruise's protection", (*migration).labels},
		{"from the Strimzi Drain Cleaner", (*migration).drainCleaner},
		{"from Strimzi's own service accounts", (*migration).accounts},
	} {
		t.Run(from.name, func(t *testing.T) {
			from.do(&migration{newActor(t, e), e.Reader(t)})
		})
	}
}

// versions are the objects of a namespace, so that a change of one shows.
func (m *migration) versions(kinds, namespace string) string {
	return m.run("get", kinds, "-n", namespace, "-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid} {.metadata.resourceVersion}{"\n"}{end}`)
}

// guarded is what the webhooks of Karmada and OpenKruise protect, and the two as they are when
// nobody answers for them any more.
const guarded = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: shop, labels: {resourcetemplate.karmada.io/deletion-protected: Always}}
spec: {replicas: 0, selector: {matchLabels: {app: shop}}, template: {metadata: {labels: {app: shop}}, spec: {containers: [{name: c, image: nothing.invalid/c}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {policy.kruise.io/delete-protection: Cascading}}
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nothing.invalid/c}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: typing-error, namespace: shop}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating-config}
webhooks:
- name: resourcedeletionprotection.karmada.io
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  timeoutSeconds: 3
  objectSelector: {matchExpressions: [{key: resourcetemplate.karmada.io/deletion-protected, operator: Exists}]}
  clientConfig: {url: "https://127.0.0.1:1/validate-resourcedeletionprotection"}
  rules: [{operations: [DELETE], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], scope: "*"}]
- name: propagationpolicy.karmada.io
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "https://127.0.0.1:1/validate-propagationpolicy"}
  rules: [{operations: [CREATE], apiGroups: [policy.karmada.io], apiVersions: ["*"], resources: [propagationpolicies]}]
`

func (m *migration) labels() {
	m.Apply(m.t, "", guarded)
	refused := func() string {
		return m.Kubectl(m.t, "delete", "deployment", "shop", "-n", "shop", "--dry-run=server").Stderr
	}
	m.Eventually(refused, patience, often).Should(gomega.ContainSubstring("This resource is protected")) // a policy takes a moment
	before := m.versions("deployments", "shop")
	guide := page.Read(m.t, "docs/guides/from-karmada-and-openkruise.md")

	list := m.reader.Does(m.t, guide, "See what is protected")
	for _, name := range []string{"deployments.apps/shop", "deployments.apps/web"} {
		m.Expect(list).To(gomega.ContainSubstring(name))
	}
	m.reader.Does(m.t, guide, "Stop the webhook")
	m.Expect(m.run("get", "validatingwebhookconfiguration", "validating-config", "-o", "jsonpath={.webhooks[*].name}")).To(gomega.Equal("propagationpolicy.karmada.io"))
	why := m.reader.Does(m.t, guide, "See that it holds")
	m.Expect(why).To(gomega.ContainSubstring("replicas"))

	m.Expect(cmp.Diff(before, m.versions("deployments", "shop"))).To(gomega.BeEmpty(), "no label changes")
	m.run("scale", "deployment", "web", "-n", "shop", "--replicas=0")
	m.run("delete", "deployment", "web", "-n", "shop")
	m.run("label", "deployment", "shop", "-n", "shop", "resourcetemplate.karmada.io/deletion-protected-")
	m.run("delete", "deployment", "shop", "-n", "shop")
}

// drainCleaner is the Drain Cleaner as its manifests install it, and a broker.
const drainCleaner = `
apiVersion: v1
kind: Namespace
metadata: {name: strimzi-drain-cleaner}
---
apiVersion: v1
kind: Namespace
metadata: {name: kafka}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: strimzi-drain-cleaner, namespace: strimzi-drain-cleaner}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: strimzi-drain-cleaner}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: strimzi-drain-cleaner}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: strimzi-drain-cleaner}
subjects: [{kind: ServiceAccount, name: strimzi-drain-cleaner, namespace: strimzi-drain-cleaner}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: strimzi-drain-cleaner, namespace: strimzi-drain-cleaner}
spec: {selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: nothing.invalid/c}]}}}
---
apiVersion: v1
kind: Service
metadata: {name: strimzi-drain-cleaner, namespace: strimzi-drain-cleaner}
spec: {selector: {app: d}, ports: [{port: 443, targetPort: 8443}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: strimzi-drain-cleaner}
webhooks:
- name: strimzi-drain-cleaner.strimzi.io
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  timeoutSeconds: 5
  clientConfig: {service: {namespace: strimzi-drain-cleaner, name: strimzi-drain-cleaner, path: /drainer, port: 443}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods/eviction], scope: Namespaced}]
---
apiVersion: v1
kind: Pod
metadata: {name: my-cluster-kafka-0, namespace: kafka, labels: {strimzi.io/kind: Kafka, strimzi.io/name: my-cluster-kafka, strimzi.io/cluster: my-cluster}}
spec: {containers: [{name: c, image: nothing.invalid/c}]}
`

func (m *migration) drainCleaner() {
	m.Apply(m.t, "", drainCleaner)
	m.configure("eviction: {requestTimeout: 3s}") // and it looks for others at once
	guide := page.Read(m.t, "docs/guides/from-the-strimzi-drain-cleaner.md").Scripts(m.t, "Change over")
	m.Eventually(func() string { return m.condition("EvictionGuardAlone") }, patience, often).Should(gomega.HavePrefix("False"))
	m.Expect(m.reader.Run(m.t, guide[0])).To(gomega.ContainSubstring("strimzi-drain-cleaner"))
	m.reader.Run(m.t, guide[1:]...)
	m.configure("eviction: {requestTimeout: 4s}")
	m.Eventually(func() string { return m.condition("EvictionGuardAlone") }, patience, often).Should(gomega.HavePrefix("True"))
	m.Expect(m.run("get", "pod", "my-cluster-kafka-0", "-n", "kafka", "-o", "jsonpath={.metadata.annotations}")).To(gomega.BeEmpty(), "it was a dry run")
	m.configure("")
}

func (m *migration) configure(text string) {
	m.Apply(m.t, "", `{apiVersion: v1, kind: ConfigMap, metadata: {name: holdfast, namespace: holdfast-system},
		data: {config.yaml: "apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\n`+text+`\n"}}`)
}

func (m *migration) condition(kind string) string {
	return m.run("get", "holdfast", "holdfast", "-o", `jsonpath={.status.conditions[?(@.type=="`+kind+`")]['status','reason']}`)
}

// connect is a KafkaConnect, and operator the one that made its account, as a script has
// annotated it since.
const (
	connect = `
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnect
metadata: {name: shop, namespace: kafka}
spec: {replicas: 1, template: {serviceAccount: {metadata: {annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::111122223333:role/shop", example.com/cost: shop}}}}}
`
	operator = `
apiVersion: v1
kind: Namespace
metadata: {name: strimzi}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: strimzi-cluster-operator, namespace: strimzi}
spec:
  replicas: 0
  selector: {matchLabels: {strimzi.io/kind: cluster-operator}}
  template:
    metadata: {labels: {strimzi.io/kind: cluster-operator}}
    spec: {containers: [{name: c, image: nothing.invalid/c, env: [{name: STRIMZI_FEATURE_GATES, value: +ServiceAccountPatching}]}]}
`
	account = `
apiVersion: v1
kind: ServiceAccount
metadata:
  name: shop-connect
  namespace: kafka
  labels: {strimzi.io/kind: KafkaConnect, strimzi.io/name: shop-connect, strimzi.io/cluster: shop, app.kubernetes.io/managed-by: strimzi-cluster-operator}
  ownerReferences: [{apiVersion: kafka.strimzi.io/v1, kind: KafkaConnect, name: shop, uid: UID, controller: false, blockOwnerDeletion: false}]
`
)

func (m *migration) accounts() {
	m.run("apply", "--server-side", "-f", "../../internal/testkit/strimzi/crds.yaml")
	m.established("crd/kafkaconnects.kafka.strimzi.io")
	m.Apply(m.t, "", operator)
	m.Eventually(func() int { return m.KubectlInput(m.t, connect, "apply", "-f", "-").Code }, patience, often).Should(gomega.BeZero())
	uid := m.run("get", "kafkaconnect", "shop", "-n", "kafka", "-o", "jsonpath={.metadata.uid}")
	out := m.KubectlInput(m.t, strings.ReplaceAll(account, "UID", uid), "create", "--field-manager=strimzi-cluster-operator", "-f", "-")
	m.Expect(out.Code).To(gomega.BeZero(), out.Stderr)
	m.run("annotate", "serviceaccount", "shop-connect", "-n", "kafka", "example.com/cost=kafka", "example.com/contact=desk")
	was := m.versions("serviceaccounts", "kafka")
	guide := page.Read(m.t, "docs/guides/from-strimzi-service-accounts.md")

	m.reader.Does(m.t, guide, "What you need")
	plan := m.reader.Does(m.t, guide, "See what would change")
	m.Expect(plan).To(gomega.MatchRegexp(`added +annotation eks\.amazonaws\.com/role-arn`))
	m.Expect(plan).To(gomega.MatchRegexp(`yielded +annotation example\.com/cost`))
	m.Expect(m.versions("serviceaccounts", "kafka")).To(gomega.Equal(was))
	m.reader.Does(m.t, guide, "Change over")
	annotations := func() string {
		return m.run("get", "serviceaccount", "shop-connect", "-n", "kafka", "-o", `jsonpath={.metadata.annotations}`)
	}
	const want = `{"eks.amazonaws.com/role-arn":"arn:aws:iam::111122223333:role/shop","example.com/contact":"desk","example.com/cost":"kafka"}`
	m.Expect(annotations()).To(gomega.Equal(want))
	m.Expect(m.run("get", "deployment", "strimzi-cluster-operator", "-n", "strimzi", "-o", "jsonpath={.spec.template.spec.containers[0].env}")).To(gomega.BeEmpty())
	m.reader.Does(m.t, guide, "The way back")
	m.Expect(annotations()).To(gomega.Equal(want), "nothing is taken off")
}
