// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Derived is a kind whose objects the cluster's own controllers make from a
// template or from another object, and delete again all the time. A label on
// the template or the object is copied onto them; refusing to delete them would
// stall rollouts, clean-up and traffic, and protect nothing that matters: what
// they are made from is what people label.
type Derived struct {
	schema.GroupResource
	// Unowned is true for a kind whose objects carry no reference to the object
	// that they were made from. They carry MadeByLabel instead.
	Unowned bool
}

const (
	// MadeByLabel tells Endpoints that the endpoint controller made, by the value
	// MadeByValue, from those that a person did. Older versions of Kubernetes do not set
	// it; there none count as made.
	MadeByLabel = "endpoints.kubernetes.io/managed-by"
	// MadeByValue is the value of MadeByLabel.
	MadeByValue = "endpoint-controller"
)

// DerivedKinds are all such kinds, with what copies the label onto each.
var DerivedKinds = []Derived{
	{GroupResource: schema.GroupResource{Resource: "pods"}},                                      // pod templates
	{GroupResource: schema.GroupResource{Group: "apps", Resource: "replicasets"}},                // a Deployment's pod template
	{GroupResource: schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}},        // a StatefulSet's and a DaemonSet's pod template
	{GroupResource: schema.GroupResource{Group: "batch", Resource: "jobs"}},                      // a CronJob's job template
	{GroupResource: schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}},  // a ResourceClaimTemplate
	{GroupResource: schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}}, // the labels of a Service or of Endpoints
	{GroupResource: schema.GroupResource{Resource: "endpoints"}, Unowned: true},                  // the labels of a Service
}

// ClusterControllers are the user names under which the cluster's own
// controllers delete derived objects. kube-controller-manager uses its own name
// where its controllers do not have separate credentials.
var ClusterControllers = []string{
	"system:kube-controller-manager",
	"system:kube-scheduler", // preemption
	"system:serviceaccount:kube-system:cronjob-controller",
	"system:serviceaccount:kube-system:daemon-set-controller",
	"system:serviceaccount:kube-system:deployment-controller",
	"system:serviceaccount:kube-system:device-taint-eviction-controller",
	"system:serviceaccount:kube-system:endpoint-controller",
	"system:serviceaccount:kube-system:endpointslice-controller",
	"system:serviceaccount:kube-system:endpointslicemirroring-controller",
	"system:serviceaccount:kube-system:generic-garbage-collector",
	"system:serviceaccount:kube-system:job-controller",
	"system:serviceaccount:kube-system:namespace-controller",
	"system:serviceaccount:kube-system:node-controller",
	"system:serviceaccount:kube-system:pod-garbage-collector",
	"system:serviceaccount:kube-system:replicaset-controller",
	"system:serviceaccount:kube-system:replication-controller",
	"system:serviceaccount:kube-system:resource-claim-controller",
	"system:serviceaccount:kube-system:statefulset-controller",
	"system:serviceaccount:kube-system:taint-eviction-controller",
	"system:serviceaccount:kube-system:ttl-after-finished-controller",
}

// Preemptors are the users that delete pods to make room for others, or because their node is gone. A label of a tenant
// must not hold the place that a system pod needs, also on a pod without an owner.
var Preemptors = []string{"system:kube-scheduler", "system:serviceaccount:kube-system:pod-garbage-collector"}

// KubeletUserPrefix begins the user name of every kubelet. Kubelets delete the
// mirror pods of static pods, and no other kind counts for them.
const KubeletUserPrefix = "system:node:"

func derivedKind(r schema.GroupResource) (Derived, bool) {
	i := slices.IndexFunc(DerivedKinds, func(d Derived) bool { return d.GroupResource == r })
	if i < 0 {
		return Derived{}, false
	}
	return DerivedKinds[i], true
}

// derived says whether an object is one that controllers make and delete.
func derived(r schema.GroupResource, o *metav1.PartialObjectMetadata) bool {
	d, ok := derivedKind(r)
	if d.Unowned {
		return ok && labels(o)[MadeByLabel] == MadeByValue
	}
	return ok && controlled(o)
}

// controlled says whether a controller owns the object.
func controlled(o *metav1.PartialObjectMetadata) bool {
	return o != nil && metav1.GetControllerOfNoCopy(o) != nil
}

// machine says whether a request comes from a controller and not from a person.
func (r Rules) machine(req Request) bool {
	return slices.Contains(ClusterControllers, req.User) ||
		slices.Contains(r.WorkloadControllers, req.User) ||
		(req.Resource == pods || req.Resource == nodes) && strings.HasPrefix(req.User, KubeletUserPrefix)
}

var (
	pods  = schema.GroupResource{Resource: "pods"}
	nodes = schema.GroupResource{Resource: "nodes"}
)

// preempts reports whether one of Preemptors deletes a pod.
func preempts(req Request) bool { return req.Resource == pods && slices.Contains(Preemptors, req.User) }

// LeftToControllers says whether an object was made by a controller that may
// delete it again, whatever protects it from people.
func LeftToControllers(r schema.GroupResource, o *metav1.PartialObjectMetadata) bool {
	return derived(r, o)
}
