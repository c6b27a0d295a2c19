// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package builtin

import "k8s.io/apimachinery/pkg/util/sets"

// StrimziOperator selects the pods of Strimzi's operator, however it was installed: its
// manifests, its chart and its bundle for the lifecycle manager name and label the
// Deployments each in their own way, and the pods the same.
const StrimziOperator = "strimzi.io/kind=cluster-operator"

// StrimziManagers are the field managers under which it writes: with server-side apply,
// and before that with the name of its client.
func StrimziManagers() sets.Set[string] {
	return sets.New("strimzi-kafka-operator", "strimzi-cluster-operator", "fabric8-kubernetes-client")
}
