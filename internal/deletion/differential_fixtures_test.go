// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

const (
	deploymentSpec = `selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}`
	loadBalanced   = `{loadBalancer: {ingress: [{ip: 192.0.2.1}]}}`
)

// The kinds of the world. Deployments are paused, so that nothing is made of them.
var diffKinds = []struct {
	resource   schema.GroupResource
	body       string
	status     string
	terminates bool
}{
	{schema.GroupResource{Resource: "configmaps"}, `{apiVersion: v1, kind: ConfigMap}`, "", true},
	{schema.GroupResource{Resource: "pods"}, `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}]}}`, "", true},
	{schema.GroupResource{Group: "apps", Resource: "replicasets"}, `{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 0, ` + deploymentSpec + `}}`, "", true},
	{schema.GroupResource{Resource: "endpoints"}, `{apiVersion: v1, kind: Endpoints}`, "", false},
	{schema.GroupResource{Resource: "namespaces"}, `{apiVersion: v1, kind: Namespace}`, "", false},
	{schema.GroupResource{Resource: "services"}, `{apiVersion: v1, kind: Service, spec: {clusterIP: None}}`, "", true},
	{schema.GroupResource{Resource: "services"}, `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{port: 80}]}}`, loadBalanced, false},
	{schema.GroupResource{Group: "apps", Resource: "deployments"}, `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, paused: true, ` + deploymentSpec + `}}`, "", true},
	{schema.GroupResource{Group: "apps", Resource: "deployments"}, `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2, paused: true, ` + deploymentSpec + `}}`, "", true},
	{schema.GroupResource{Group: "networking.k8s.io", Resource: "ingresses"}, `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}}`, "", false},
	{schema.GroupResource{Group: "networking.k8s.io", Resource: "ingresses"}, `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}}`, loadBalanced, false},
	{policy.CustomResourceDefinitions, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: ` + diffGroup + `, scope: Namespaced, versions: [
		{name: v1, served: false, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`, "", true},
}

// diffGroup is that of the kinds that the definitions define. None is served, which would take the API server long.
const diffGroup = "diff.example.org"

// diffName is the name of an object of a kind.
func diffName(kind int, name string) string {
	if diffKinds[kind].resource == policy.CustomResourceDefinitions {
		return name + "." + diffGroup
	}
	return name
}

// diffClusterScoped have no namespace and no owners.
var diffClusterScoped = []schema.GroupResource{policy.Namespaces, policy.CustomResourceDefinitions}

// diffBound stands for the UID of an object, in labels and as its UID.
const diffBound = "bound"

var (
	diffKeys   = []string{strict, karmada, kruise}
	diffValues = []string{"absent", "", "Always", "Cascading", "true"}
	diffOwners = []string{"none", "owner", "controller", "made", "renamed"}
	// diffBindings are values of the label that binds the marks.
	diffBindings = append(slices.Repeat([]string{diffBound}, 12), "0b4d0d5a-7f3a-4a51-9f0e-2f6f4f1f9a11", v1alpha1.MarkSet, "")
	// diffMarks are values of each mark; "absent" is the one that is taken most.
	diffMarks = map[string][]string{
		v1alpha1.ProtectedByMark:          {"absent", "absent", "absent", "absent", "one", "two", "2_protections", ""},
		v1alpha1.ProtectedWhileUsedByMark: {"absent", "absent", "absent", "one", "two"},
		v1alpha1.HoldsProtectedMark:       {"absent", "true"},
		v1alpha1.InUseMark:                {"absent", "true"},
		v1alpha1.OverrideMark:             {"absent", "absent", "absent", "urgent"},
		v1alpha1.OverrideContentsMark:     {"absent", "absent", "absent", "true"},
	}
	// diffSelecting are the labels by which protections select an object.
	diffSelecting = []string{"absent", "absent", kruise, policy.MadeByLabel, karmada + "," + kruise, "app"}
)

const (
	diffFixtures = 1200
)

// diffDetails are what the annotations of marks say: nothing in it may be read, and what could steer a terminal is not shown.
var diffDetails = []string{
	`one (ask "Bob" or 'Ann', {target} {namespace} $1 \n), two`, "one \x1b[2J two", "", "größer …", "one\ntwo", "one\u202etwo", "one\u200btwo\u2028",
}

// diffFixture is an object that a case can start from.
type diffFixture struct {
	kind                  int
	values                []int
	owner                 string
	terminating, released bool
	marks, annotations    map[string]string
}

// fixtures are a fixed sample of all the objects that there could be. One half
// carries labels that people set, the other marks, and few labels.
func fixtures() []diffFixture {
	random := rand.New(rand.NewPCG(3, 4))
	out := make([]diffFixture, diffFixtures)
	for i := range out {
		f := diffFixture{
			kind: i % len(diffKinds), values: make([]int, len(diffKeys)),
			owner: diffOwners[random.IntN(len(diffOwners)-1)], // what has a renamed owner is collected before the case is put
			marks: map[string]string{}, annotations: map[string]string{},
		}
		f.terminating = diffKinds[f.kind].terminates && random.IntN(4) == 0
		f.released = !slices.Contains(diffClusterScoped, diffKinds[f.kind].resource) && random.IntN(6) == 0
		marked := random.IntN(2) == 0
		for j := range f.values {
			if !marked || random.IntN(4) == 0 {
				f.values[j] = random.IntN(len(diffValues))
			}
		}
		if marked {
			f.mark(random, diffName(f.kind, fmt.Sprintf("o-%d", i)))
		}
		out[i] = f
	}
	return out
}

func (f *diffFixture) mark(random *rand.Rand, name string) {
	for _, key := range v1alpha1.Marks {
		value := diffMarks[key][random.IntN(len(diffMarks[key]))]
		detailed := random.IntN(2) == 0
		if value == "absent" {
			continue
		}
		f.marks[key] = value
		if detailed {
			f.annotations[key] = diffDetails[(len(name)+len(f.marks)+int(name[len(name)-1]))%len(diffDetails)]
		}
	}
	f.marks[v1alpha1.MarkedLabel] = diffBindings[random.IntN(len(diffBindings))]
	for _, key := range v1alpha1.SelectedMarks {
		if labels := diffSelecting[random.IntN(len(diffSelecting))]; labels != "absent" {
			f.annotations[v1alpha1.LabelsAnnotation(key)] = labels
		}
	}
	switch random.IntN(4) {
	case 0, 1:
		f.annotations[v1alpha1.DeleteUncheckedAnnotation] = name
	case 2:
		f.annotations[v1alpha1.DeleteUncheckedAnnotation] = "another"
	}
}

// object makes one of a kind, with labels, an owner and no more.
func (w *diffWorld) object(kind int, namespace, name string, values []int, owner string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(diffKinds[kind].body), &o.Object); err != nil {
		panic(err) // the bodies are constants
	}
	o.SetName(diffName(kind, name))
	if diffKinds[kind].resource == policy.CustomResourceDefinitions {
		if err := unstructured.SetNestedStringMap(o.Object, map[string]string{"plural": name, "singular": name, "kind": name}, "spec", "names"); err != nil {
			panic(err) // the bodies are constants
		}
		if owner == "renamed" { // there are none, so it stands for the annotation
			o.SetAnnotations(map[string]string{v1alpha1.DeleteUncheckedAnnotation: o.GetName()})
		}
	}
	if !slices.Contains(diffClusterScoped, diffKinds[kind].resource) {
		o.SetNamespace(namespace)
		if owner == "owner" || owner == "controller" || owner == "renamed" {
			reference := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: w.owner[namespace], Controller: new(owner != "owner")}
			if owner == "renamed" {
				reference.Name = "nobody"
			}
			o.SetOwnerReferences([]metav1.OwnerReference{reference})
		}
	}
	labels := map[string]string{}
	for i, v := range values {
		if diffValues[v] != "absent" {
			labels[diffKeys[i]] = diffValues[v]
		}
	}
	if owner == "made" {
		labels[policy.MadeByLabel] = policy.MadeByValue
	}
	o.SetLabels(labels)
	return o
}

// fixture is the object of a fixture, as it stands in the cluster.
func (w *diffWorld) fixture(i int) *unstructured.Unstructured {
	f := w.fixtures[i]
	namespace := w.namespace
	if f.released {
		namespace = w.released
	}
	o := w.object(f.kind, namespace, fmt.Sprintf("o-%d", i), f.values, f.owner)
	labels := o.GetLabels()
	maps.Copy(labels, f.marks)
	o.SetLabels(labels)
	if len(f.annotations) > 0 {
		o.SetAnnotations(f.annotations)
	}
	if text := diffKinds[f.kind].status; text != "" {
		status := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &status); err != nil {
			panic(err) // the texts are constants
		}
		o.Object["status"] = status
	}
	return o
}
