// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
)

const (
	// kafka is watched; kafkaTest is not, once the configuration says so.
	kafka     = "kafka"
	kafkaTest = "kafka-test"
	// The brokers begin on the first node; those of kafkaTest are on the last.
	firstNode, secondNode, testNode = "node-a", "node-b", "node-c"
)

// watched bounds the guard for evictions to one namespace.
const watched = `{"data": {"config.yaml": "apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\neviction:\n  scope:\n    namespaces: [kafka]\n"}}`

const evictionTitle = "A drained node waits for the operator of its pods"

// evictions are told on a local control plane only.
func evictions(local bool) chapter {
	if !local {
		return chapter{title: evictionTitle, about: "Left out: this cluster has machines behind its nodes, and the demo drains nodes that are only played"}
	}
	steps := []step{
		{kubectl: []string{"create", "namespace", kafka}},
		{kubectl: []string{"create", "namespace", kafkaTest}},
		{
			does: fmt.Sprintf("kwok plays three nodes and their kubelets; three brokers run in %s on %s, and as many in %s on %s", kafka, firstNode, kafkaTest, testNode),
			do:   playBrokers,
		},
	}
	steps = append(steps, dropIn()...)
	steps = append(steps, byPolicy()...)
	return chapter{title: evictionTitle, steps: append(steps, unwatched()...)}
}

// dropIn is what the Strimzi Drain Cleaner does.
func dropIn() []step {
	return []step{
		{
			why:     "As with the Strimzi Drain Cleaner: its answer, from a webhook of its name, and the drain ends",
			kubectl: []string{"drain", firstNode}, refused: true,
			says: `admission webhook "strimzi-drain-cleaner.strimzi.io" denied the request: The pod will be rolled by the Strimzi Cluster Operator`,
		},
		{
			why:     "Its annotation asks the operator to move each pod",
			kubectl: []string{"get", "pods", "-n", kafka, "-o", `jsonpath={.items[*].metadata.annotations.strimzi\.io/manual-rolling-update}`}, says: "true true true",
		},
		{
			does: "an operator starts that moves what is annotated, one pod after the other, as Strimzi's does",
			do:   func(ctx context.Context, s *stage) error { return s.nodes.startOperator(ctx, kafka, kafkaTest) },
		},
		brokersAreOn(secondNode),
		{
			why:     "Only now does the drain succeed, when somebody runs it again",
			kubectl: []string{"drain", firstNode}, says: "node/node-a drained",
		},
		{kubectl: []string{"uncordon", firstNode}, says: "uncordoned"},
	}
}

// byPolicy is one drain that waits.
func byPolicy() []step {
	return []step{
		{
			why:     "An EvictionPolicy answers with code 429 instead, which drains wait for",
			kubectl: []string{"apply", "-f", "config/policies/strimzi.yaml"}, says: "evictionpolicy.holdfast.dev/strimzi created",
		},
		{kubectl: []string{"wait", "--for=condition=Ready", "evictionpolicy/strimzi", "--timeout=30s"}, says: "condition met", soon: true},
		{
			why:     "What will hold a drain up, before the fact",
			kubectl: []string{"holdfast", "why", "drain", secondNode}, refused: true, says: "EvictionPolicy strimzi",
		},
		{
			why:     "One drain, which goes on by itself",
			kubectl: []string{"drain", secondNode, "--timeout=50s"}, says: "Strimzi's operator moves the pod; the drain goes on by itself when it has",
		},
		brokersAreOn(firstNode),
		{kubectl: []string{"get", "evictionpolicies"}, says: "strimzi"},
	}
}

// unwatched is a namespace out of scope.
func unwatched() []step {
	return []step{
		{
			why:     "The configuration bounds all of this to some namespaces, without a restart",
			kubectl: []string{"patch", "configmap", "holdfast", "-n", "holdfast-system", "--type=merge", "-p", watched}, says: "patched",
		},
		{
			why:     "What is in force, with every default",
			kubectl: []string{"get", "holdfast", "holdfast", "-o", "jsonpath={.status.configuration}"}, says: "- kafka\n", soon: true,
		},
		{
			why:     "Brokers in a namespace that is not watched leave at once",
			kubectl: []string{"drain", testNode, "--timeout=50s"}, says: "node/node-c drained",
		},
		{kubectl: []string{"get", "pods", "-n", kafkaTest}, says: "No resources found"},
	}
}

// brokersAreOn waits until all brokers are on a node.
func brokersAreOn(node string) step {
	return step{
		kubectl: []string{"get", "pods", "-n", kafka, "-o", "jsonpath={.items[*].spec.nodeName}"},
		says:    node + " " + node + " " + node, soon: true,
	}
}
