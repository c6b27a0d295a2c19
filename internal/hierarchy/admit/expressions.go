// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/holdfast-dev/holdfast/internal/platform/cel"
)

const user = "request.userInfo.?username.orValue('')"

func labels(object string) string { return object + ".metadata.?labels.orValue({})" }

func annotations(object string) string { return object + ".metadata.?annotations.orValue({})" }

func owners(object string) string { return object + ".metadata.?ownerReferences.orValue([])" }

// field is an optional value of one, which can be absent or null.
func field(object, path string) string {
	return object + ".?" + strings.ReplaceAll(path, ".", ".?")
}

// annotation is the value of one, empty if there is none.
func annotation(object, key string) string {
	return object + ".metadata.?annotations[" + cel.String(key) + "].orValue('')"
}

// notBy lets requests of some users pass.
func notBy(users []string) admissionregistrationv1.MatchCondition {
	return admissionregistrationv1.MatchCondition{Name: "not-holdfast", Expression: "!(" + user + " in " + cel.Strings(users) + ")"}
}

// message writes a text of package rules as an expression. Its places are filled
// with the values of expressions, which need no escapes: they are names and keys.
func message(text string, values ...string) string {
	var parts []string
	for _, value := range values {
		before, after, _ := strings.Cut(text, "%")
		verb, rest := after[:1], after[1:]
		if verb == "q" {
			before, rest = before+`"`, `"`+rest
		}
		parts = append(parts, cel.String(before), value)
		text = rest
	}
	return strings.Join(append(parts, cel.String(text)), " + ")
}

// controllers says in CEL whether a controller of the cluster asks, be it the
// scheduler, a node, or what runs in kube-system.
func controllers() string {
	return user + " in " + cel.Strings([]string{controllerManager, "system:kube-scheduler", "system:cloud-controller-manager"}) +
		" || " + user + ".startsWith('system:serviceaccount:kube-system:') || " + user + ".startsWith('system:node:')"
}

const (
	// controllerManager is all its controllers at once where they have no accounts of
	// their own.
	controllerManager = "system:kube-controller-manager"
	// namespaceController empties namespaces that are being deleted, and does nothing
	// else.
	namespaceController = "system:serviceaccount:kube-system:namespace-controller"
	garbageCollector    = "system:serviceaccount:kube-system:generic-garbage-collector"
)

// ofCluster says in CEL whether a key of an annotation is the cluster's own. Those
// of kubectl are not: they are of whoever runs it.
func ofCluster(key string) string {
	return key + `.matches('^([^/]*\\.)?kubernetes\\.io/') && !` + key + ".startsWith('kubectl.kubernetes.io/')"
}
