// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// problems is what an API server has against an object, as "path: what".
func problems(t testing.TB, err error) []string {
	t.Helper()
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Details == nil {
		t.Fatalf("got %v, want an answer with causes", err)
	}
	var out []string
	for _, c := range status.ErrStatus.Details.Causes {
		out = append(out, c.Field+": "+c.Message)
	}
	return out
}

func protectionOf(t testing.TB, name, spec string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	decodeYAML(t, `{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: `+name+`}, spec: `+spec+`}`, o)
	return o
}

func TestProtection_whatIsRefusedWhenItIsWritten(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	const (
		resources = "spec.protectedResources"
		selector  = resources + "[0].resourceSelector"
		first     = selector + "[0]"
		widest    = "a selector needs a namespace, a name, a namespaceSelector or a labelSelector; write name: '*' to protect every object of the kind"
		derived   = "the cluster's own controllers delete Pods, ReplicaSets, Jobs, ControllerRevisions, Events, Leases, Endpoints, EndpointSlices and the like all the time; select them by name or by labelSelector"
		empty     = "an empty selector selects everything; leave it out, or say what it selects"
		values    = "In and NotIn need values, Exists and DoesNotExist may not have any"
		noUse     = "Cascading has a meaning for Namespace, CustomResourceDefinition, Service, Ingress, Deployment, StatefulSet, ReplicaSet, and OpenKruise's CloneSet, StatefulSet and UnitedDeployment"
		notLabels = "a key or a value is not a label's"
	)
	of := func(selector string) string {
		return `{protectedResources: [{resourceSelector: [{` + selector + `}]}]}`
	}
	cm := func(more string) string { return of(`apiVersion: v1, kind: ConfigMap, ` + more) }
	tests := []struct{ name, protection, spec, want string }{
		{name: "no protectedResources", spec: `{mode: Always}`, want: resources + ": Required value"},
		{name: "an empty list of protectedResources", spec: `{protectedResources: []}`, want: resources + ": Invalid value"},
		{name: "no resourceSelector", spec: `{protectedResources: [{resourceNames: [a]}]}`, want: selector + ": Required value"},
		{name: "an empty resourceSelector", spec: `{protectedResources: [{resourceSelector: [], resourceNames: [a]}]}`, want: selector + ": Invalid value"},
		{name: "no apiVersion", spec: of(`kind: ConfigMap, name: a`), want: first + ".apiVersion: Required value"},
		{name: "no kind", spec: of(`apiVersion: v1, name: a`), want: first + ".kind: Required value"},

		{name: "a selector of a whole kind", spec: of(`apiVersion: v1, kind: ConfigMap`), want: selector + ": " + widest},
		{name: "a second selector of a whole kind", spec: `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: a}, {apiVersion: v1, kind: Secret}]}]}`, want: selector + ": " + widest},
		{name: "a selector of a whole kind, with no resourceNames", spec: `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap}], resourceNames: []}]}`, want: selector + ": " + widest},

		{name: "every Pod of a namespace", spec: of(`apiVersion: v1, kind: Pod, namespace: a`), want: selector + ": " + derived},
		{name: "every Pod of some namespaces", spec: of(`apiVersion: v1, kind: Pod, namespaceSelector: {matchLabels: {a: b}}`), want: selector + ": " + derived},
		{name: "every Pod", spec: of(`apiVersion: v1, kind: Pod, name: "*"`), want: selector + ": " + derived},
		{name: "every Lease", spec: of(`apiVersion: coordination.k8s.io/v1, kind: Lease, name: "*"`), want: selector + ": " + derived},
		{name: "every Event", spec: of(`apiVersion: v1, kind: Event, name: "*"`), want: selector + ": " + derived},
		{name: "every EndpointSlice", spec: of(`apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, name: "*"`), want: selector + ": " + derived},
		{name: "every Endpoints", spec: of(`apiVersion: v1, kind: Endpoints, namespace: a`), want: selector + ": " + derived},
		{name: "every ReplicaSet", spec: of(`apiVersion: apps/v1, kind: ReplicaSet, namespace: a`), want: selector + ": " + derived},
		{name: "every Job", spec: of(`apiVersion: batch/v1, kind: Job, namespace: a`), want: selector + ": " + derived},
		{name: "every ControllerRevision", spec: of(`apiVersion: apps/v1, kind: ControllerRevision, namespace: a`), want: selector + ": " + derived},
		{name: "every VolumeAttachment", spec: of(`apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, name: "*"`), want: selector + ": " + derived},

		{name: "a labelSelector that selects everything", spec: cm(`labelSelector: {}`), want: first + ".labelSelector: " + empty},
		{name: "a labelSelector of empty parts", spec: cm(`labelSelector: {matchLabels: {}, matchExpressions: []}`), want: first + ".labelSelector: " + empty},
		{name: "a namespaceSelector that selects everything", spec: cm(`namespaceSelector: {}`), want: first + ".namespaceSelector: " + empty},
		{name: "an operator that does not exist", spec: cm(`labelSelector: {matchExpressions: [{key: a, operator: Is, values: [b]}]}`), want: first + `.labelSelector.matchExpressions[0].operator: Unsupported value: "Is"`},
		{name: "no operator", spec: cm(`labelSelector: {matchExpressions: [{key: a}]}`), want: first + `.labelSelector.matchExpressions[0].operator: Required value`},
		{name: "In without values", spec: cm(`labelSelector: {matchExpressions: [{key: a, operator: In}]}`), want: first + ".labelSelector.matchExpressions[0]: " + values},
		{name: "NotIn with an empty list of values", spec: cm(`namespaceSelector: {matchExpressions: [{key: a, operator: NotIn, values: []}]}`), want: first + ".namespaceSelector.matchExpressions[0]: " + values},
		{name: "Exists with values", spec: cm(`labelSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}`), want: first + ".labelSelector.matchExpressions[0]: " + values},
		{name: "a key of an expression that is none of a label", spec: cm(`labelSelector: {matchExpressions: [{key: "a b", operator: Exists}]}`), want: first + ".labelSelector.matchExpressions[0].key: Invalid value"},
		{name: "a value of an expression that is none of a label", spec: cm(`labelSelector: {matchExpressions: [{key: a, operator: In, values: ["b c"]}]}`), want: first + ".labelSelector.matchExpressions[0].values[0]: Invalid value"},
		{name: "a key that is none of a label", spec: cm(`labelSelector: {matchLabels: {"a b": c}}`), want: first + ".labelSelector.matchLabels: " + notLabels},
		{name: "a key with an empty prefix", spec: cm(`labelSelector: {matchLabels: {"/a": c}}`), want: first + ".labelSelector.matchLabels: " + notLabels},
		{name: "a key with a long name", spec: cm(`labelSelector: {matchLabels: {` + strings.Repeat("a", 64) + `: c}}`), want: first + ".labelSelector.matchLabels: " + notLabels},
		{name: "a value that is none of a label", spec: cm(`namespaceSelector: {matchLabels: {a: "b c"}}`), want: first + ".namespaceSelector.matchLabels.a: Invalid value"},
		{name: "a value that is too long for a label", spec: cm(`labelSelector: {matchLabels: {a: ` + strings.Repeat("b", 64) + `}}`), want: first + ".labelSelector.matchLabels.a: Too long"},

		{name: "Cascading for a kind that cannot be in use", spec: `{mode: Cascading, protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: a}]}]}`, want: "spec.mode: " + noUse},
		{name: "Cascading for a kind that only looks like one that can", spec: `{mode: Cascading, protectedResources: [{resourceSelector: [{apiVersion: serving.knative.dev/v1, kind: Service, name: a}]}]}`, want: "spec.mode: " + noUse},
		{name: "Cascading for one kind of several that cannot", spec: `{mode: Cascading, protectedResources: [{resourceSelector: [{apiVersion: apps/v1, kind: Deployment, name: a}]}, {resourceSelector: [{apiVersion: apps/v1, kind: DaemonSet, name: a}]}]}`, want: "spec.mode: " + noUse},
		{name: "a mode that does not exist", spec: `{mode: Sometimes, protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: a}]}]}`, want: `spec.mode: Unsupported value: "Sometimes"`},

		{name: "an apiVersion with two slashes", spec: of(`apiVersion: a/b/c, kind: ConfigMap, name: a`), want: first + ".apiVersion: Invalid value"},
		{name: "an apiVersion without a version", spec: of(`apiVersion: apps/, kind: Deployment, name: a`), want: first + ".apiVersion: Invalid value"},
		{name: "a kind with a space", spec: of(`apiVersion: v1, kind: Config Map, name: a`), want: first + ".kind: Invalid value"},
		{name: "a resource in place of a kind", spec: of(`apiVersion: apps/v1, kind: deployments.apps, name: a`), want: first + ".kind: Invalid value"},
		{name: "any kind", spec: of(`apiVersion: v1, kind: "*", name: a`), want: first + ".kind: Invalid value"},
		{name: "a namespace that cannot be", spec: cm(`namespace: Shop_1`), want: first + ".namespace: Invalid value"},
		{name: "a namespace by pattern", spec: cm(`namespace: "shop-*"`), want: first + ".namespace: Invalid value"},
		{name: "a name by pattern", spec: cm(`name: "shop-*"`), want: first + ".name: a name is exact, or * for every object of the kind"},
		{name: "a resourceName that is empty", spec: `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap}], resourceNames: [""]}]}`, want: resources + "[0].resourceNames[0]: Invalid value"},
		{name: "a resourceName twice", spec: `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap}], resourceNames: [a, a]}]}`, want: resources + `[0].resourceNames[1]: Duplicate value: "a"`},
		{name: "a name that no label value can be", protection: strings.Repeat("a", 64), spec: cm(`name: a`), want: "metadata: the name becomes a label value on what is protected, so it has at most 63 characters"},
		{name: "a message that no annotation should be", spec: `{message: ` + strings.Repeat("a", 513) + `, protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: a}]}]}`, want: "spec.message: Too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := tt.protection
			if name == "" {
				name = "refused"
			}
			err := e.Client.Create(t.Context(), protectionOf(t, name, tt.spec), client.DryRunAll)
			if !apierrors.IsInvalid(err) {
				t.Fatalf("got %v, want it to be invalid", err)
			}
			path, what, _ := strings.Cut(tt.want, ": ")
			if got := problems(t, err); !slices.ContainsFunc(got, func(p string) bool {
				at, text, _ := strings.Cut(p, ": ")
				return at == path && strings.Contains(text, what)
			}) {
				t.Errorf("it has other problems (-want +got):\n%s", cmp.Diff([]string{tt.want}, got))
			}
		})
	}
}

func TestProtection_whatIsAcceptedWhenItIsWritten(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	of := func(selector string) string {
		return `{protectedResources: [{resourceSelector: [{` + selector + `}]}]}`
	}
	tests := []struct{ name, protection, spec string }{
		{name: "one object", spec: of(`apiVersion: v1, kind: ConfigMap, namespace: a, name: b`)},
		{name: "every object of a kind, said plainly", spec: of(`apiVersion: v1, kind: ConfigMap, name: "*"`)},
		{name: "every object of a kind in a namespace", spec: of(`apiVersion: apps/v1, kind: Deployment, namespace: a`)},
		{name: "a name that only RBAC takes", spec: of(`apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: "system:node"`)},
		{name: "labels", spec: of(`apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {app.kubernetes.io/name: web, tier: ""}}`)},
		{name: "every operator", spec: of(`apiVersion: v1, kind: ConfigMap, labelSelector: {matchExpressions: [
			{key: a, operator: In, values: [b, c]}, {key: example.com/a, operator: NotIn, values: [""]}, {key: b, operator: Exists}, {key: c, operator: DoesNotExist, values: []}]}`)},
		{name: "namespaces by their labels", spec: of(`apiVersion: v1, kind: ConfigMap, namespaceSelector: {matchLabels: {env: prod}}`)},
		{name: "Pods by their labels", spec: of(`apiVersion: v1, kind: Pod, name: "*", labelSelector: {matchLabels: {a: b}}`)},
		{name: "one Lease", spec: of(`apiVersion: coordination.k8s.io/v1, kind: Lease, namespace: a, name: b`)},
		{name: "Pods by resourceNames", spec: `{protectedResources: [{resourceSelector: [{apiVersion: v1, kind: Pod}], resourceNames: [a, b]}]}`},
		{name: "Cascading for all that can be in use", spec: `{mode: Cascading, protectedResources: [{resourceSelector: [
			{apiVersion: v1, kind: Namespace, name: a}, {apiVersion: v1, kind: Service, name: a}, {apiVersion: networking.k8s.io/v1, kind: Ingress, name: a},
			{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: a}, {apiVersion: apps/v1, kind: Deployment, name: a},
			{apiVersion: apps/v1, kind: StatefulSet, name: a}, {apiVersion: apps/v1, kind: ReplicaSet, name: a}, {apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, name: a},
			{apiVersion: apps.kruise.io/v1beta1, kind: StatefulSet, name: a}, {apiVersion: apps.kruise.io/v1alpha1, kind: UnitedDeployment, name: a}]}]}`},
		{name: "a kind that nobody serves", spec: of(`apiVersion: example.com/v1alpha1, kind: Nothing, name: a`)},
		{name: "the longest name", protection: strings.Repeat("a", 63), spec: of(`apiVersion: v1, kind: ConfigMap, name: a`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := tt.protection
			if name == "" {
				name = "accepted"
			}
			o := protectionOf(t, name, tt.spec)
			if err := e.Client.Create(t.Context(), o, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			mode, _, _ := unstructured.NestedString(o.Object, "spec", "mode")
			if strings.Contains(tt.spec, "mode: ") != (mode == "Cascading") {
				t.Errorf("it has the mode %s", mode)
			}
		})
	}
}
