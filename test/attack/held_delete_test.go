// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"sync"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

const isProtected = "is protected from deletion by the label holdfast.dev/deletion-protected"

var deletions = []attempt{
	{number: 3, name: "raw DELETE", users: "ed nsadmin wide", on: "cm", line: "delete --raw /api/v1/namespaces/{shop}/configmaps/NAME", says: isProtected},
	{number: 38, name: "of a bare pod by a kubelet", users: kubelet, on: "pod", line: "delete pod NAME --force", says: isProtected},
	{number: 38, name: "of a bare pod by taint-eviction", users: taintEviction, on: "pod", line: "delete pod NAME --force", says: isProtected},
}

// selections are about a Deployment that a ResourceDeletionProtection selects by its name.
var selections = []attempt{
	{number: 44, name: "by name", users: "ed nsadmin wide", on: selected, line: "delete deployment selected", says: "is protected from deletion by ResourceDeletionProtection {rdp}"},
	{number: 44, name: "of the collection", users: "ed nsadmin wide", on: selected, line: "delete --raw /apis/apps/v1/namespaces/{shop}/deployments?fieldSelector=metadata.name%3Dselected", says: "ResourceDeletionProtection {rdp}"},
	{number: 45, name: "the mark taken off", users: "ed nsadmin wide", on: selected, line: "label deployment selected holdfast.dev/protected-by- holdfast.dev/marked-"},
	{number: 47, name: "a ResourceDeletionProtection of a namespace's admin", users: "nsadmin ed", line: "create -f -", absent: "rdp {mine}",
		input: `{"apiVersion":"holdfast.dev/v1alpha1","kind":"ResourceDeletionProtection","metadata":{"name":"{mine}"},"spec":{"protectedResources":[{"resourceSelector":[{"apiVersion":"v1","kind":"ConfigMap","namespace":"{other}"}]}]}}`,
		says:  `cannot create resource "resourcedeletionprotections"`},
}

// customResources are about a custom resource of which exown may do everything, by the version that is not stored.
var customResources = []attempt{
	{number: 40, name: "deleted", users: "exown wide", on: ofWidgets, line: "delete widgets.v2.{shop}.ex.io one", says: isProtected},
	{number: 40, name: "the collection deleted", users: "exown wide", on: ofWidgets, line: "delete --raw /apis/{shop}.ex.io/v2/namespaces/{shop}/widgets", says: isProtected},
	{number: 40, name: "unlabelled", users: "exown wide", on: ofWidgets, line: "label widgets.v2.{shop}.ex.io one holdfast.dev/deletion-protected-", says: needsVerb},
	{number: 40, name: "unlabelled through the status", users: "exown wide", on: ofWidgets, line: `patch widgets.v2.{shop}.ex.io one --subresource=status --type=merge -p {"metadata":{"labels":null},"status":{"a":"b"}}`},
}

const (
	ofWidgets  = "widgets.v1.{shop}.ex.io one -n {shop}"
	heldWidget = `{apiVersion: "{shop}.ex.io/v1", kind: Widget, metadata: {name: one, namespace: "{shop}", labels: {` + protected + `}}}`
)

// widgets is the definition of Widgets in some versions.
func heldWidgets(versions string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "widgets.{shop}.ex.io"}, spec: {group: "{shop}.ex.io", scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, versions: [` + versions + "]}}\n---\n"
}

func version(name, more string) string {
	return "{name: " + name + ", served: true, " + more + ", subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}"
}

const selected = "deployment selected -n {shop}"

// derived are attempts to have a controller of Kubernetes delete what a label protects.
var derived = []scenario{
	{34, "a Job whose time is over, after it failed", expiredJob},
	{35, "an EndpointSlice that a label gives to a controller", takenSlice},
	{36, "a standalone EndpointSlice, by the deletion of its Service", standaloneSlice},
	{37, "Endpoints, by a Service of their name that is created and deleted", shadowedEndpoints},
	{39, "a label and a deletion at once", labelsAndDeletions},
}

func TestHeld_deletions(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.cast("ed", "nsadmin", "wide", "exown", kubelet, taintEviction)
	r.Apply(heldWidgets(version("v1", "storage: true") + ", " + version("v2", "storage: false")))
	r.Apply(heldWidget)
	r.Apply(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: selected, namespace: "{shop}"}, spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: none}]}}}}` + "\n---\n" +
		`{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: "{rdp}"}, spec: {protectedResources: [{resourceSelector: [{apiVersion: apps/v1, kind: Deployment, namespace: "{shop}", name: selected}]}]}}`)
	t.Cleanup(func() { r.as("", "delete rdp {rdp}", "") })
	r.See(selected+` -o jsonpath={.metadata.labels.holdfast\.dev/protected-by}`, "{rdp}")
	r.hold(deletions)
	r.hold(selections)
	r.hold(customResources)
	r.play(derived)
}

// tried waits until a controller of Kubernetes has tried to delete an object of shop.
func (r *rig) tried(controller, resource, name string) {
	r.T.Helper()
	r.Eventually(func() int { return r.Deletes(controller, resource, "{shop}", name) }, story.Patience, story.Often).
		Should(gomega.BeNumerically(">", 0), "the %s does not delete %s/%s", controller, resource, name)
}

func expiredJob(r *rig) {
	const job = "job expired -n {shop}"
	r.do("ed", "create -f -", `{apiVersion: batch/v1, kind: Job, metadata: {name: expired, namespace: "{shop}", labels: {`+protected+`}}, spec: {activeDeadlineSeconds: 1, ttlSecondsAfterFinished: 0,
		template: {spec: {restartPolicy: Never, containers: [{name: c, image: none}]}}}}`)
	before := r.state(job)
	r.tried("ttl-after-finished-controller", "jobs", "expired")
	r.same(job, before)
}

const slice = `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: NAME, namespace: "{shop}", labels: {` + protected + `, kubernetes.io/service-name: NAME}}, addressType: IPv4, ports: [{port: 80}], endpoints: [{addresses: [192.0.2.1]}]}`

func service(name, spec string) string {
	return `{apiVersion: v1, kind: Service, metadata: {name: ` + name + `, namespace: "{shop}"}, spec: {ports: [{port: 80}]` + spec + "}}\n---\n"
}

const ofNoPod = ", selector: {app: none}"

func takenSlice(r *rig) {
	const taken = "endpointslice taken -n {shop}"
	r.do("wide", "apply -f -", service("taken", ofNoPod)+replaced(slice, "NAME", "taken"))
	before := r.state(taken)
	r.do("wide", "label endpointslice taken -n {shop} endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io", "")
	r.tried("endpointslice-controller", "endpointslices", "taken")
	after := r.state(taken)
	if after.UID != before.UID || after.Terminating || after.Labels[v1alpha1.DeletionProtectedLabel] != v1alpha1.ProtectAlways {
		r.T.Errorf("got %+v", after)
	}
}

func standaloneSlice(r *rig) {
	const standalone = "endpointslice standalone -n {shop}"
	r.do("wide", "apply -f -", service("standalone", ofNoPod)+replaced(slice, "NAME", "standalone"))
	before := r.state(standalone)
	ofController := func() string {
		return r.get("endpointslices -n {shop} -o name -l kubernetes.io/service-name=standalone,endpointslice.kubernetes.io/managed-by")
	}
	r.Eventually(ofController, story.Patience, story.Slower).ShouldNot(gomega.BeEmpty())
	r.do("ed", "delete service standalone -n {shop}", "")
	r.Eventually(ofController, story.Patience, story.Slower).Should(gomega.BeEmpty())
	r.same(standalone, before)
}

func shadowedEndpoints(r *rig) {
	const shadowed = "endpoints shadowed -n {shop}"
	r.do("wide", "apply -f -", `{apiVersion: v1, kind: Endpoints, metadata: {name: shadowed, namespace: "{shop}", labels: {`+protected+`}}, subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{port: 80}]}]}`)
	before := r.state(shadowed)
	for _, selector := range []string{"", ofNoPod} {
		r.do("ed", "create -f -", service("shadowed", selector))
		r.do("ed", "delete service shadowed -n {shop}", "")
		r.same(shadowed, before)
	}
	r.tried("endpoint-controller", "endpoints", "shadowed")
	r.same(shadowed, before)
}

// labelsAndDeletions has one user label objects while another deletes them: whatever comes first is what counts.
func labelsAndDeletions(r *rig) {
	labels, deletes := r.As(r.T, r.user("ed")), r.As(r.T, r.user("wide"))
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{%q:"Always"}}}`, v1alpha1.DeletionProtectedLabel))
	var group sync.WaitGroup
	for i := range 50 {
		meta := metav1.ObjectMeta{Namespace: r.Long("{shop}"), Name: fmt.Sprintf("race-%d", i)}
		var o client.Object = &corev1.ConfigMap{ObjectMeta: meta}
		if i%2 == 0 {
			o = &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}}}
		}
		if err := r.Client.Create(r.T.Context(), o); err != nil {
			r.T.Fatal(err)
		}
		deleted := make(chan error, 1)
		group.Go(func() { deleted <- deletes.Delete(r.T.Context(), o.DeepCopyObject().(client.Object)) })
		group.Go(func() {
			now := o.DeepCopyObject().(client.Object)
			labelErr, deleteErr := labels.Patch(r.T.Context(), now, patch), <-deleted
			switch {
			case labelErr == nil && apierrors.IsForbidden(deleteErr):
				if err := r.Client.Get(r.T.Context(), client.ObjectKeyFromObject(o), now); err != nil || now.GetUID() != o.GetUID() || now.GetDeletionTimestamp() != nil {
					r.T.Errorf("%s is lost after its deletion was refused: %v", o.GetName(), err)
				}
			case labelErr == nil && deleteErr == nil && now.GetDeletionTimestamp() != nil: // a Pod is marked as being deleted first
			case !apierrors.IsNotFound(labelErr) || deleteErr != nil:
				r.T.Errorf("%s: the label: %v, the deletion: %v", o.GetName(), labelErr, deleteErr)
			}
		})
	}
	group.Wait()
}
