// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package operators

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// strimzi is the cluster operator of Strimzi 0.40 to 0.50 with a Kafka of one KafkaNodePool.
type strimzi struct {
	// serverSide is the feature gate ServerSideApplyPhase1 (since 0.48, planned to be on since 0.51): the operator applies Services,
	// ServiceAccounts, ConfigMaps and claims.
	serverSide bool
	// exclusion is STRIMZI_LABELS_EXCLUSION_PATTERN in addition to the default pattern.
	exclusion string
}

func (strimzi) identity() (a account, agent string) {
	return account{"strimzi", "strimzi-cluster-operator"}, "fabric8-kubernetes-client/6.13"
}

func (strimzi) setup() string {
	out := ""
	for _, role := range []string{"strimzi-cluster-operator-namespaced", "strimzi-cluster-operator-watched", "strimzi-entity-operator"} {
		out += fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %[1]s}, "+
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}, "+
			"subjects: [{kind: ServiceAccount, name: strimzi-cluster-operator, namespace: strimzi}]}\n---\n", role)
	}
	return out
}

func (strimzi) customResources() []string {
	return []string{
		`{apiVersion: kafka.strimzi.io/v1beta2, kind: Kafka, metadata: {name: my-cluster}, spec: {kafka: {version: 3.9.0}, entityOperator: {topicOperator: {}}}}`,
		`{apiVersion: kafka.strimzi.io/v1beta2, kind: KafkaNodePool, metadata: {name: pool, labels: {strimzi.io/cluster: my-cluster}}, spec: {replicas: 2, roles: [broker, controller]}}`,
	}
}

func (strimzi) selector() (key, value string) { return "strimzi.io/cluster", "my-cluster" }

func (s strimzi) copies() bool { return !s.excluded(v1alpha1.MarkedLabel) }

func (strimzi) upgrade() string { return `{"spec":{"kafka":{"version":"4.0.0"}}}` }

// ofKafka is what the operator makes of a Kafka (KafkaCluster, CaReconciler and EntityTopicOperator).
var ofKafka = []string{
	`{apiVersion: v1, kind: Secret, metadata: {name: my-cluster-cluster-ca-cert}, type: Opaque, data: {ca.crt: eA==}}`,
	`{apiVersion: v1, kind: Secret, metadata: {name: my-cluster-cluster-ca}, type: Opaque, data: {ca.key: eA==}}`,
	`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: my-cluster-network-policy-kafka}, spec: {podSelector: {matchLabels: {strimzi.io/name: my-cluster-kafka}}, policyTypes: [Ingress]}}`,
	`{apiVersion: v1, kind: ServiceAccount, metadata: {name: my-cluster-kafka}}`,
	`{apiVersion: v1, kind: Service, metadata: {name: my-cluster-kafka-bootstrap}, spec: {type: ClusterIP, selector: {strimzi.io/name: my-cluster-kafka}, ports: [{name: tcp-plain, port: 9092, targetPort: 9092, protocol: TCP}]}}`,
	`{apiVersion: v1, kind: Service, metadata: {name: my-cluster-kafka-brokers}, spec: {type: ClusterIP, clusterIP: None, publishNotReadyAddresses: true, selector: {strimzi.io/name: my-cluster-kafka}, ports: [{name: tcp-plain, port: 9092, targetPort: 9092, protocol: TCP}]}}`,
	`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: my-cluster-kafka}, spec: {minAvailable: 1, selector: {matchLabels: {strimzi.io/name: my-cluster-kafka}}}}`,
	`{apiVersion: v1, kind: ServiceAccount, metadata: {name: my-cluster-entity-operator}}`,
	`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: my-cluster-entity-operator}, rules: [{apiGroups: [kafka.strimzi.io], resources: [kafkatopics], verbs: [get, list, watch, create, patch, update, delete]}]}`,
	`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: my-cluster-entity-topic-operator-role}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: my-cluster-entity-operator}, subjects: [{kind: ServiceAccount, name: my-cluster-entity-operator}]}`,
}

// ofNode is what it makes for each node of a KafkaNodePool (KafkaCluster.generatePersistentVolumeClaims and
// generatePerBrokerConfigurationConfigMaps). Of them the labels are those of the KafkaNodePool, not of the Kafka (KafkaPool).
var ofNode = []string{
	`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-%[1]s, annotations: {strimzi.io/delete-claim: "false"}}, spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}}}`,
	`{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s}, data: {server.config: ""}}`,
}

// reconcile is KafkaAssemblyOperator.reconcile, and after it what StrimziPodSetController does in parallel.
func (s strimzi) reconcile(r *rig) {
	custom := r.custom()
	kafka, pool := custom[0], custom[1]
	for _, text := range ofKafka {
		o := r.object(text)
		s.describe(o, kafka)
		s.put(r, o)
	}
	nodes := []string{"my-cluster-pool-0", "my-cluster-pool-1"}
	for _, node := range nodes {
		for _, text := range ofNode {
			o := r.object(fmt.Sprintf(text, node))
			s.describe(o, pool)
			if o.GetKind() == "PersistentVolumeClaim" {
				// A claim has no owner unless the storage says deleteClaim (PersistentVolumeClaimUtils).
				o.SetOwnerReferences(nil)
			}
			s.put(r, o)
		}
	}
	s.podSet(r, kafka, pool, nodes)
	s.status(r, kafka, map[string]any{"observedGeneration": kafka.GetGeneration(), "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}})
	s.status(r, pool, map[string]any{"observedGeneration": pool.GetGeneration(), "replicas": int64(len(nodes))})
}

// describe gives an object the labels and the owner that Strimzi gives it: the labels of the custom resource except some
// (Labels.fromResource and STRIMZI_LABELS_EXCLUSION_PATTERN), and an owner that is not the controller
// (ModelUtils.createOwnerReference, with false for all but pods).
func (s strimzi) describe(o, owner *unstructured.Unstructured) {
	for k, v := range owner.GetLabels() {
		if !s.excluded(k) {
			label(o, map[string]string{k: v})
		}
	}
	label(o, map[string]string{
		"strimzi.io/cluster": "my-cluster", "strimzi.io/kind": "Kafka", "strimzi.io/name": "my-cluster-kafka", "strimzi.io/component-type": "kafka",
		"app.kubernetes.io/name": "kafka", "app.kubernetes.io/instance": "my-cluster", "app.kubernetes.io/part-of": "strimzi-my-cluster",
		"app.kubernetes.io/managed-by": "strimzi-cluster-operator",
	})
	own(o, owner, false, new(false))
}

func (s strimzi) excluded(key string) bool {
	return strings.HasPrefix(key, "app.kubernetes.io/") && !strings.HasPrefix(key, "app.kubernetes.io/part-of") ||
		strings.HasPrefix(key, "kustomize.toolkit.fluxcd.io") || s.exclusion != "" && regexp.MustCompile(s.exclusion).MatchString(key)
}

// put creates or changes an object (AbstractNamespacedResourceOperator.reconcile).
func (s strimzi) put(r *rig, desired *unstructured.Unstructured) {
	switch desired.GetKind() {
	case "Service", "ServiceAccount", "ConfigMap", "PersistentVolumeClaim":
		if s.serverSide {
			s.apply(r, desired)
			return
		}
	}
	current := r.get(desired)
	if current == nil {
		r.create(desired)
		return
	}
	if desired.GetKind() == "PersistentVolumeClaim" { // PvcOperator.revertImmutableChanges
		for _, field := range []string{"volumeName", "storageClassName", "accessModes"} {
			if v, ok, _ := unstructured.NestedFieldCopy(current.Object, "spec", field); ok {
				_ = unstructured.SetNestedField(desired.Object, v, "spec", field)
			}
		}
	}
	if desired.GetKind() == "Service" { // ServiceOperator.patchDualStackNetworking
		for _, field := range []string{"ipFamilies", "ipFamilyPolicy"} {
			if v, ok, _ := unstructured.NestedFieldCopy(current.Object, "spec", field); ok {
				_ = unstructured.SetNestedField(desired.Object, v, "spec", field)
			}
		}
	}
	// ResourceDiff decides whether there is anything to change; what the patch then has is computed by the client.
	for _, op := range difference(current, desired).Patches {
		if !ignorable.MatchString(op.Path) {
			s.patch(r, current, desired)
			return
		}
	}
}

// ignorable joins the patterns IGNORABLE_PATHS of Strimzi's operators for the kinds of the tests.
var ignorable = regexp.MustCompile(`^(/metadata/(managedFields|finalizers|creationTimestamp|deletionTimestamp|deletionGracePeriodSeconds|resourceVersion|generation|uid)` +
	`|/spec/(sessionAffinity|clusterIP|clusterIPs|ipFamilies|internalTrafficPolicy)|/status)$`)

// difference is the JSON patch that makes one object of another.
func difference(from, to *unstructured.Unstructured) admission.Response {
	a, errA := from.MarshalJSON()
	b, errB := to.MarshalJSON()
	if err := errors.Join(errA, errB); err != nil {
		panic(err) // the objects are decoded from YAML or JSON
	}
	return admission.PatchResponseFromRaw(a, b)
}

// patch sends the JSON patch of the fabric8 client 6 (OperationSupport.handlePatch and PatchUtils.jsonDiff): from what the API
// server has to what is desired, whatever the time, the generation, the UID and the version are. So the patch removes every
// label, annotation and finalizer that is not desired, also those that the operator did not set, and is unconditional.
func (strimzi) patch(r *rig, current, desired *unstructured.Unstructured) {
	from, to := current.DeepCopy(), desired.DeepCopy()
	for _, o := range []*unstructured.Unstructured{from, to} {
		for _, field := range []string{"creationTimestamp", "deletionTimestamp", "generation", "selfLink", "uid", "resourceVersion"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
	}
	body, err := json.Marshal(difference(from, to).Patches)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = r.operator.Patch(r.t.Context(), current, client.RawPatch(apitypes.JSONPatchType, body))
}

// apply is AbstractNamespacedResourceOperator.internalServerSideApply: without force, and with force after a conflict.
func (strimzi) apply(r *rig, desired *unstructured.Unstructured) {
	body, err := json.Marshal(desired)
	if err != nil {
		r.t.Fatal(err)
	}
	patch, manager := client.RawPatch(apitypes.ApplyPatchType, body), client.FieldOwner("strimzi-kafka-operator")
	if r.operator.Patch(r.t.Context(), desired.DeepCopy(), patch, manager) == nil || !r.sent.conflict() {
		return
	}
	_ = r.operator.Patch(r.t.Context(), desired.DeepCopy(), patch, manager, client.ForceOwnership)
}

// conflict takes the last request back if it was a conflict, which the operator itself answers.
func (c *recorder) conflict() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.all) - 1
	if last < 0 || c.all[last].code != http.StatusConflict {
		return false
	}
	c.all = c.all[:last]
	return true
}

// podSet writes the StrimziPodSet with an update (StrimziPodSetOperator.patchOrReplace), creates its pods, and deletes those
// of another revision (StrimziPodSetController, KafkaRoller and PodOperator.restart).
func (s strimzi) podSet(r *rig, kafka, pool *unstructured.Unstructured, nodes []string) {
	version, _, _ := unstructured.NestedString(kafka.Object, "spec", "kafka", "version")
	pods := make([]*unstructured.Unstructured, 0, len(nodes))
	all := make([]any, 0, len(nodes))
	for _, node := range nodes {
		pod := r.object(fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %[1]s}, spec: {serviceAccountName: my-cluster-kafka,
			containers: [{name: kafka, image: "quay.io/strimzi/kafka:%[2]s"}], volumes: [{name: data, persistentVolumeClaim: {claimName: data-%[1]s}}]}}`, node, version))
		s.describe(pod, pool)
		pod.SetOwnerReferences(nil)
		label(pod, map[string]string{"strimzi.io/pod-name": node, "strimzi.io/controller": "strimzipodset", "strimzi.io/controller-name": "my-cluster-pool"})
		// PodRevision hashes the whole pod, labels included.
		text, err := json.Marshal(pod)
		if err != nil {
			r.t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		pod.SetAnnotations(map[string]string{revision: hex.EncodeToString(sum[:4])})
		pods, all = append(pods, pod), append(all, pod.Object)
	}
	desired := r.object(`{apiVersion: core.strimzi.io/v1beta2, kind: StrimziPodSet, metadata: {name: my-cluster-pool}, spec: {selector: {matchLabels: {strimzi.io/name: my-cluster-kafka}}}}`)
	s.describe(desired, pool)
	if err := unstructured.SetNestedSlice(desired.Object, all, "spec", "pods"); err != nil {
		r.t.Fatal(err)
	}
	current := r.get(desired)
	if current == nil {
		r.create(desired)
	} else {
		for _, op := range difference(current, desired).Patches {
			if !ignorable.MatchString(op.Path) {
				desired.SetResourceVersion(current.GetResourceVersion())
				for r.update(desired); r.sent.conflict(); r.update(desired) {
					desired.SetResourceVersion(r.get(desired).GetResourceVersion())
				}
				break
			}
		}
	}
	if current = r.get(desired); current == nil {
		return
	}
	// StrimziPodSetController makes pods of what the StrimziPodSet has, not of an update that was refused.
	if stored, _, err := unstructured.NestedSlice(current.Object, "spec", "pods"); err != nil || !equality.Semantic.DeepEqual(stored, all) {
		return
	}
	for _, pod := range pods {
		own(pod, current, true, new(false))
		now := r.get(pod)
		if now != nil && now.GetAnnotations()[revision] != pod.GetAnnotations()[revision] {
			r.roll(now, client.PropagationPolicy(metav1.DeletePropagationForeground))
			now = r.get(pod)
		}
		if now == nil {
			r.create(pod)
		}
	}
	s.status(r, current, map[string]any{"observedGeneration": current.GetGeneration(), "pods": int64(len(pods)), "currentPods": int64(len(pods))})
}

const revision = "strimzi.io/revision"

// status reads the object again and writes its status with an update, if it has changed (KafkaAssemblyOperator.updateStatus,
// StatusDiff and CrdOperator.updateStatusAsync).
//
// Holdfast may mark the object between the two requests, as any other writer may: the operator then reads it again.
func (s strimzi) status(r *rig, o *unstructured.Unstructured, status map[string]any) {
	o = r.get(o)
	before, err := json.Marshal(o.Object["status"])
	if err != nil {
		r.t.Fatal(err)
	}
	after, err := json.Marshal(status)
	if err != nil {
		r.t.Fatal(err)
	}
	if bytes.Equal(before, after) {
		return
	}
	o.Object["status"] = status
	if r.operator.Status().Update(r.t.Context(), o) != nil && r.sent.conflict() {
		s.status(r, o, status)
	}
}
