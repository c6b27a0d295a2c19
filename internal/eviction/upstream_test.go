// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

type labels = map[string]string

func strimzi(name string) labels { return labels{"strimzi.io/kind": "Kafka", "strimzi.io/name": name} }

// upstreamRow is a case of the Strimzi Drain Cleaner's own unit tests.
type upstreamRow struct {
	name string
	// is the name of the test over there.
	is          string
	rules       policy.DrainCleaner
	watched     string // NS stands for the namespace of the pod
	labels      labels
	annotations map[string]string
	noPod       bool
	asked       func(request, eviction question)
	// wrongUID asks for another pod, and rightUID for this one.
	wrongUID, rightUID bool

	want          string
	gets, patches int
	annotated     map[string]string
}

var (
	bothDeny  = policy.DrainCleaner{Enabled: true, Kafka: true, ZooKeeper: true, Deny: true}
	rolled    = map[string]string{rollAnnotation: "true"}
	elsewhere = func(request, eviction question) {
		request["namespace"], eviction["metadata"].(question)["namespace"] = "unwatched-namespace", "unwatched-namespace"
	}
)

var upstreamRows = []upstreamRow{
	{
		name: "in the legacy mode the pod is annotated and the eviction passes", is: "testEvictionAllowed",
		rules: policy.DrainCleaner{Enabled: true, Kafka: true, ZooKeeper: true}, labels: strimzi("my-cluster-kafka"),
		want: passes, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "the pod is annotated and the eviction refused", is: "testEvictionDenied",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "an eviction that names the UID of the pod is refused", is: "testEvictionCorrectUid",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), rightUID: true, want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "an eviction that names another UID passes, and nothing is written", is: "testEvictionWrongUid",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), wrongUID: true, want: passes, gets: 1,
	},
	{
		name: "an Eviction of policy/v1beta1 is one too", is: "testV1Beta1Eviction",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), asked: func(_, eviction question) { eviction["apiVersion"] = "policy/v1beta1" },
		want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "a pod without annotations gets one", is: "testEvictionOnPodWithoutAnnotations",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "other annotations stay", is: "testEvictionOnPodWithExistingAnnotations",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), annotations: map[string]string{"a": "1", "b": "2"},
		want: stays, gets: 1, patches: 1, annotated: map[string]string{"a": "1", "b": "2", rollAnnotation: "true"},
	},
	{name: "a pod with an empty set of labels goes", is: "testEmptyLabel", rules: bothDeny, labels: labels{}, want: passes, gets: 1},
	{name: "a pod without labels goes", is: "testNullLabel", rules: bothDeny, want: passes, gets: 1},
	{
		name: "a Strimzi pod of another name goes", is: "testCorrectLabelWrongValue",
		rules: bothDeny, labels: strimzi("my-cluster-foo"), want: passes, gets: 1,
	},
	{
		name: "a name that ends in -kafka counts", is: "testCorrectLabelCorrectKafkaValue",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "a name that ends in -zookeeper counts", is: "testCorrectLabelCorrectZooKeeperValue",
		rules: bothDeny, labels: strimzi("my-cluster-zookeeper"), want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "a Kafka pod goes where Kafka is off", is: "testCorrectKafkaLabelWithDisabledKafkaDraining",
		rules: policy.DrainCleaner{Enabled: true, ZooKeeper: true, Deny: true}, labels: strimzi("my-cluster-kafka"), want: passes, gets: 1,
	},
	{
		name: "a ZooKeeper pod goes where ZooKeeper is off", is: "testCorrectZooKeeperLabelWithDisabledZooKeeperDraining",
		rules: policy.DrainCleaner{Enabled: true, Kafka: true, Deny: true}, labels: strimzi("my-cluster-zookeeper"), want: passes, gets: 1,
	},
	{name: "a dry run about a pod that is not there passes", is: "testDryRun", rules: bothDeny, noPod: true, asked: dryRun, want: passes, gets: 1},
	{
		name: "with both off a Kafka pod goes", is: "testKafkaAndZooKeeperFilters, first half",
		rules: policy.DrainCleaner{Enabled: true, Deny: true}, labels: strimzi("my-cluster-kafka"), want: passes, gets: 1,
	},
	{
		name: "with both off a ZooKeeper pod goes", is: "testKafkaAndZooKeeperFilters, second half",
		rules: policy.DrainCleaner{Enabled: true, Deny: true}, labels: strimzi("my-cluster-zookeeper"), want: passes, gets: 1,
	},
	{
		name: "a pod with the name label alone goes", is: "testNoKindLabel",
		rules: bothDeny, labels: labels{"strimzi.io/name": "my-cluster-kafka"}, want: passes, gets: 1,
	},
	{name: "a pod that is not there goes", is: "testPodDoesNotExist", rules: bothDeny, noPod: true, want: passes, gets: 1},
	{
		name: "what is annotated already is refused without a write", is: "testAlreadyHasRuLabel",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), annotations: rolled, want: stays, gets: 1, annotated: rolled,
	},
	{
		name: "the namespace of the request stands in for that of the Eviction", is: "testEvictionWithoutNamespace",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), asked: func(_, eviction question) { delete(eviction["metadata"].(question), "namespace") },
		want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "an eviction without a namespace anywhere passes unseen", is: "testNoNamespaceAnywhere",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), asked: func(request, eviction question) {
			delete(eviction["metadata"].(question), "namespace")
			delete(request, "namespace")
		},
		want: passes,
	},
	{
		name: "an empty watch list is every namespace", is: "testNamespaceFilteringEmptyDrainNamespaces",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), watched: " ", want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "a pod of a watched namespace stays", is: "testNamespaceFilteringWithWatchedNamespace",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), watched: "NS,other-namespace", want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "a pod of an unwatched namespace goes without a look", is: "testNamespaceFilteringWithUnwatchedNamespace",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), watched: "NS,other-namespace", asked: elsewhere, want: passes,
	},
	{
		name: "spaces around the names of the watch list do not count", is: "testNamespaceFilteringWithSpacesInList, testNamespaceFilteringWithWhitespaceHandling",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), watched: " NS , other-namespace ", want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "an asterisk is every namespace", is: "testNamespaceFilteringWithWildcard, testNamespaceFilteringWithEmptyConfiguration",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), watched: "*", want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	// What has no test over there.
	{
		name: "a dry run is refused as well, and nothing is written", is: "none: a dry run about a pod that counts",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), asked: dryRun, want: stays, gets: 1,
	},
	{
		name: "a dry run in the legacy mode passes, and nothing is written", is: "none",
		rules: policy.DrainCleaner{Enabled: true, Kafka: true}, labels: strimzi("my-cluster-kafka"), asked: dryRun, want: passes, gets: 1,
	},
	{
		name: "a request that does not say whether it is a dry run is none", is: "none: a null pointer",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), asked: func(request, _ question) { delete(request, "dryRun") },
		want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "another value of the annotation is overwritten", is: "none",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), annotations: map[string]string{rollAnnotation: "True"},
		want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "another UID in the legacy mode passes, and nothing is written", is: "none",
		rules: policy.DrainCleaner{Enabled: true, Kafka: true}, labels: strimzi("my-cluster-kafka"), wrongUID: true, want: passes, gets: 1,
	},
	{
		name: "a watch list of nothing but blank items is every namespace", is: "none",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), watched: " , ,", want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "a pod in front of whose suffix there is nothing goes", is: "none",
		rules: bothDeny, labels: labels{"strimzi.io/kind": "Kafka", "strimzi.io/name": "kafka"}, want: passes, gets: 1,
	},
	{
		name: "the exporter of a Kafka cluster goes", is: "none",
		rules: bothDeny, labels: strimzi("my-cluster-kafka-exporter"), want: passes, gets: 1,
	},
	{
		name: "a pod of another kind of Strimzi goes", is: "none",
		rules: bothDeny, labels: labels{"strimzi.io/kind": "KafkaConnect", "strimzi.io/name": "my-kafka"}, want: passes, gets: 1,
	},
	{
		name: "the name in the object counts, not that in the request", is: "none",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), asked: func(request, _ question) { request["name"] = "another" },
		want: stays, gets: 1, patches: 1, annotated: rolled,
	},
	{
		name: "an eviction without a name passes unseen", is: "none",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), asked: func(_, eviction question) { delete(eviction["metadata"].(question), "name") },
		want: passes,
	},
	{
		name: "an object of another kind passes unseen", is: "none",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), asked: func(_, eviction question) { eviction["kind"] = "PodDisruptionBudget" }, want: passes,
	},
	{
		name: "an Eviction of another group passes unseen", is: "none",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), asked: func(_, eviction question) { eviction["apiVersion"] = "lifecycle.k8s.io/v1alpha1" }, want: passes,
	},
	{
		name: "another kind passes whatever its fields are", is: "none",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"),
		asked: func(_, eviction question) { eviction["kind"], eviction["deleteOptions"] = "Binding", "text" }, want: passes,
	},
	{
		name: "a request without an object passes unseen", is: "none",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), asked: func(request, _ question) { delete(request, "object") }, want: passes,
	},
	{
		name: "a request whose object is null passes unseen", is: "none",
		rules: bothDeny, labels: strimzi("my-cluster-kafka"), asked: func(request, _ question) { request["object"] = nil }, want: passes,
	},
}

// These are the tests of ValidatingWebhookTest in the Strimzi Drain Cleaner 1.6.0 and
// those that seed 000 names, each with the calls that it allows, and what they leave
// out.
func TestUpstream_everyUnitTestOfTheDrainCleaner(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	for _, row := range upstreamRows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.run(t, newRig(t, e), ns)
		})
	}
}

func (row *upstreamRow) run(t *testing.T, r *rig, ns string) {
	t.Log("over there:", row.is)
	r.set.policy.DrainCleaner = row.rules
	r.watched(t, strings.ReplaceAll(row.watched, "NS", ns))
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "my-cluster-kafka-", Labels: row.labels, Annotations: row.annotations}}
	if row.noPod {
		p.Name = "my-cluster-kafka-1"
	} else {
		p = r.make(t, p)
	}
	changes := []func(request, eviction question){}
	if row.asked != nil {
		changes = append(changes, row.asked)
	}
	if row.rightUID {
		changes = append(changes, withUID(string(p.UID)))
	}
	if row.wrongUID {
		changes = append(changes, withUID("WRONG-UID"))
	}
	if diff := cmp.Diff(row.want, r.ask(t, asks(ns, p.Name, changes...))); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	gets, patches := r.wire.calls()
	if gets != row.gets || patches != row.patches {
		t.Errorf("got %d GETs and %d PATCHes, want %d and %d", gets, patches, row.gets, row.patches)
	}
	if row.noPod {
		return
	}
	want := row.annotated
	if want == nil {
		want = row.annotations
	}
	if diff := cmp.Diff(want, r.annotations(t, ns, p.Name)); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}
