// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package operators

import (
	"fmt"
	"maps"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cloudNativePG is the operator CloudNativePG 1.26 with a Cluster of two instances.
type cloudNativePG struct {
	// inherited is INHERITED_LABELS, a pattern of the labels of a Cluster that the operator copies. By default it copies none.
	inherited string
}

func (cloudNativePG) identity() (a account, agent string) {
	return account{"cnpg-system", "cnpg-manager"}, "manager/v0.0.0 (linux/amd64)"
}

func (cloudNativePG) setup() string { return "" }

func (cloudNativePG) customResources() []string {
	return []string{`{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: db}, spec: {instances: 2, imageName: "postgresql:17.4"}}`}
}

func (cloudNativePG) selector() (key, value string) { return "cnpg.io/cluster", "db" }

func (c cloudNativePG) copies() bool { return c.inherited != "" }

func (cloudNativePG) upgrade() string { return `{"spec":{"imageName":"postgresql:17.5"}}` }

// ofCluster is what createPostgresClusterObjects makes of a Cluster (internal/controller/cluster_create.go).
var ofCluster = []string{
	`{apiVersion: v1, kind: Secret, metadata: {name: db-ca}, type: Opaque, data: {ca.crt: eA==}}`,
	`{apiVersion: v1, kind: Secret, metadata: {name: db-superuser}, type: kubernetes.io/basic-auth, data: {username: eA==, password: eA==}}`,
	`{apiVersion: v1, kind: Service, metadata: {name: db-r}, spec: {type: ClusterIP, selector: {cnpg.io/cluster: db, cnpg.io/podRole: instance}, ports: [{name: postgres, port: 5432, targetPort: 5432, protocol: TCP}]}}`,
	`{apiVersion: v1, kind: Service, metadata: {name: db-rw}, spec: {type: ClusterIP, selector: {cnpg.io/cluster: db, cnpg.io/instanceRole: primary}, ports: [{name: postgres, port: 5432, targetPort: 5432, protocol: TCP}]}}`,
	`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: db-primary}, spec: {minAvailable: 1, selector: {matchLabels: {cnpg.io/cluster: db, cnpg.io/instanceRole: primary}}}}`,
	`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: db}, spec: {minAvailable: 1, selector: {matchLabels: {cnpg.io/cluster: db, cnpg.io/instanceRole: replica}}}}`,
	`{apiVersion: v1, kind: ServiceAccount, metadata: {name: db}}`,
	`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: db}, rules: [{apiGroups: [postgresql.cnpg.io], resources: [clusters/status], resourceNames: [db], verbs: [get, patch, update, watch]}]}`,
	`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: db}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: db}, subjects: [{kind: ServiceAccount, name: db}]}`,
}

// Of an instance the operator makes a claim, a pod, and before that a Job that initializes the claim.
const (
	ofInstance = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %s, annotations: {cnpg.io/pvcStatus: ready}}, spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}}}`
	job        = `{apiVersion: batch/v1, kind: Job, metadata: {name: %[1]s-initdb}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: initdb, image: "%[2]s"}]}}}}`
	instance   = `{apiVersion: v1, kind: Pod, metadata: {name: %[1]s}, spec: {serviceAccountName: db, containers: [{name: postgres, image: "%[2]s"}], volumes: [{name: pgdata, persistentVolumeClaim: {claimName: %[1]s}}]}}`
)

// reconcile is ClusterReconciler.Reconcile, called as often as it takes until there is nothing left to do.
func (c cloudNativePG) reconcile(r *rig) {
	cluster := r.custom()[0]
	for _, text := range ofCluster {
		o := r.object(text)
		c.describe(o, cluster)
		c.put(r, o)
	}
	image, _, _ := unstructured.NestedString(cluster.Object, "spec", "imageName")
	instances := []string{"db-1", "db-2"}
	for _, name := range instances {
		c.volume(r, cluster, name, image)
	}
	primary, _, _ := unstructured.NestedString(cluster.Object, "status", "currentPrimary")
	if primary == "" {
		primary = instances[0]
		c.status(r, cluster, primary)
	}
	// Replicas are upgraded first. Then the operator switches over to one of them, and upgrades the old primary
	// (internal/controller/cluster_upgrade.go).
	replica := instances[0]
	if replica == primary {
		replica = instances[1]
	}
	c.roles(r, primary, instances)
	c.instance(r, cluster, replica, image)
	if o := r.get(r.object(fmt.Sprintf(instance, primary, image))); o != nil && containerImage(o) != image {
		primary, replica = replica, primary
		c.status(r, r.custom()[0], primary)
		c.roles(r, primary, instances)
		c.instance(r, cluster, replica, image)
	} else {
		c.instance(r, cluster, primary, image)
	}
	c.roles(r, primary, instances)
	c.inherit(r, cluster, instances)
}

// describe is Cluster.SetInheritedDataAndOwnership (api/v1/cluster_funcs.go and pkg/utils): the Cluster is the controller.
func (c cloudNativePG) describe(o, cluster *unstructured.Unstructured) {
	label(o, c.labels(cluster))
	label(o, map[string]string{"cnpg.io/cluster": "db"})
	own(o, cluster, true, nil)
}

// labels are those that the operator copies (Data.IsLabelInherited).
func (c cloudNativePG) labels(cluster *unstructured.Unstructured) map[string]string {
	out := maps.Clone(cluster.GetLabels())
	maps.DeleteFunc(out, func(k, _ string) bool {
		inherited, _ := path.Match(c.inherited, k)
		return !inherited
	})
	return out
}

// put creates an object, or adds the labels that it should have: of a Service with an update (serviceReconciler), of others
// with the merge patch of controller-runtime. The operator does not update a Role's labels or a RoleBinding.
func (c cloudNativePG) put(r *rig, desired *unstructured.Unstructured) {
	current := r.get(desired)
	switch {
	case current == nil:
		r.create(desired)
	case desired.GetKind() == "Role" || desired.GetKind() == "RoleBinding" || !c.lacks(current, desired.GetLabels()):
	case desired.GetKind() == "Service":
		label(current, desired.GetLabels())
		r.update(current)
	default:
		c.patch(r, current, desired.GetLabels())
	}
}

func (cloudNativePG) lacks(o *unstructured.Unstructured, labels map[string]string) bool {
	for k, v := range labels {
		if o.GetLabels()[k] != v {
			return true
		}
	}
	return false
}

func (cloudNativePG) patch(r *rig, current *unstructured.Unstructured, labels map[string]string) {
	changed := current.DeepCopy()
	label(changed, labels)
	_ = r.operator.Patch(r.t.Context(), changed, client.MergeFrom(current))
}

// volume makes the claim of an instance, has a Job initialize it, and deletes the Job (internal/controller/cluster_cleanup.go).
func (c cloudNativePG) volume(r *rig, cluster *unstructured.Unstructured, name, image string) {
	claim := r.object(fmt.Sprintf(ofInstance, name))
	c.describe(claim, cluster)
	label(claim, map[string]string{"cnpg.io/instanceName": name, "cnpg.io/pvcRole": "PG_DATA"})
	if r.get(claim) != nil {
		return
	}
	r.create(claim)
	o := r.object(fmt.Sprintf(job, name, image))
	c.describe(o, cluster)
	r.create(o)
	r.roll(r.get(o), client.PropagationPolicy("Foreground"))
}

// instance creates the pod of an instance, or deletes one with another image and creates it again (upgradePod).
func (c cloudNativePG) instance(r *rig, cluster *unstructured.Unstructured, name, image string) {
	pod := r.object(fmt.Sprintf(instance, name, image))
	c.describe(pod, cluster)
	label(pod, map[string]string{"cnpg.io/instanceName": name, "cnpg.io/podRole": "instance"})
	current := r.get(pod)
	if current != nil && containerImage(current) != image {
		r.roll(current)
		current = r.get(pod)
	}
	if current == nil {
		r.create(pod)
	}
}

func containerImage(pod *unstructured.Unstructured) string {
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	image, _, _ := unstructured.NestedString(containers[0].(map[string]any), "image")
	return image
}

// status patches the status of the Cluster.
func (cloudNativePG) status(r *rig, cluster *unstructured.Unstructured, primary string) {
	changed := cluster.DeepCopy()
	for _, field := range []string{"currentPrimary", "targetPrimary"} {
		if err := unstructured.SetNestedField(changed.Object, primary, "status", field); err != nil {
			r.t.Fatal(err)
		}
	}
	_ = r.operator.Status().Patch(r.t.Context(), changed, client.MergeFrom(cluster))
}

// roles labels the pods and claims of the instances with their roles (pkg/reconciler/instance/metadata.go and
// pkg/reconciler/persistentvolumeclaim/metadata.go).
func (c cloudNativePG) roles(r *rig, primary string, instances []string) {
	for _, name := range instances {
		role := "replica"
		if name == primary {
			role = "primary"
		}
		c.add(r, name, map[string]string{"role": role, "cnpg.io/instanceRole": role})
	}
}

// inherit adds the labels of the Cluster to pods and claims. The operator removes none.
func (c cloudNativePG) inherit(r *rig, cluster *unstructured.Unstructured, instances []string) {
	for _, name := range instances {
		c.add(r, name, c.labels(cluster))
	}
}

// add patches the pod and the claim of an instance.
func (c cloudNativePG) add(r *rig, name string, labels map[string]string) {
	for _, kind := range []string{"Pod", "PersistentVolumeClaim"} {
		if o := r.get(r.object(fmt.Sprintf(`{apiVersion: v1, kind: %s, metadata: {name: %s}}`, kind, name))); o != nil && c.lacks(o, labels) {
			c.patch(r, o, labels)
		}
	}
}
