// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const (
	editors    = "ed nsadmin wide"
	needsVerb  = `needs the RBAC verb "unprotect" on resourcedeletionprotections.holdfast.dev`
	mayBe      = "the label holdfast.dev/deletion-protected may be Always"
	whileOwned = "it would be deleted together with the owner that is added or changed"

	merge     = "patch cm NAME --type=merge -p "
	jsonPatch = "patch cm NAME --type=json -p "
	strategic = "patch cm NAME --type=strategic -p "
	always    = "holdfast.dev~1deletion-protected" // in a JSON pointer
	bare      = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME","namespace":"{shop}"}}`
	raw       = "replace --raw /api/v1/namespaces/{shop}/configmaps/NAME -f -"
)

// unlabelings are attempts to take the label off.
var unlabelings = []attempt{
	{number: 11, name: "PUT with another UID", users: editors, on: "cm", line: raw, input: replaced(bare, `"metadata":{`, `"metadata":{"uid":"`+anotherUID+`",`), says: "UID in precondition"},
	{number: 12, name: "label-", users: editors, on: "cm", line: "label cm NAME holdfast.dev/deletion-protected-", says: needsVerb},
	{number: 13, name: "label=", users: editors, on: "cm", line: "label cm NAME holdfast.dev/deletion-protected= --overwrite", says: needsVerb},
	{number: 14, name: "Cascading on what is never in use", users: editors, on: "cm", line: "label cm NAME holdfast.dev/deletion-protected=Cascading --overwrite", says: "holdfast.dev/deletion-protected"},
	{number: 14, name: "Cascading on what is not in use", users: editors, on: "deployment", line: "label deployment NAME holdfast.dev/deletion-protected=Cascading --overwrite", says: needsVerb},
	{number: 15, name: "Never", users: editors, on: "cm", line: "label cm NAME holdfast.dev/deletion-protected=Never --overwrite", says: "holdfast.dev/deletion-protected"},
	{number: 16, name: "JSON patch that removes the labels", users: editors, on: "cm", line: jsonPatch + `[{"op":"remove","path":"/metadata/labels"}]`, says: needsVerb},
	{number: 16, name: "JSON patch that removes the label", users: editors, on: "cm", line: jsonPatch + `[{"op":"remove","path":"/metadata/labels/` + always + `"}]`, says: needsVerb},
	{number: 17, name: "JSON patch that replaces the metadata", users: editors, on: "cm", line: jsonPatch + `[{"op":"replace","path":"/metadata","value":{"name":"NAME","namespace":"{shop}"}}]`, says: needsVerb},
	{number: 18, name: "JSON patch that moves the label to the annotations", users: editors, on: "cm", line: jsonPatch +
		`[{"op":"test","path":"/metadata/labels/` + always + `","value":"Always"},{"op":"add","path":"/metadata/annotations","value":{}},{"op":"move","from":"/metadata/labels/` + always + `","path":"/metadata/annotations/` + always + `"}]`, says: needsVerb},
	{number: 18, name: "JSON patch that moves the labels to the annotations", users: editors, on: "cm", line: jsonPatch + `[{"op":"move","from":"/metadata/labels","path":"/metadata/annotations"}]`, says: needsVerb},
	{number: 19, name: "$patch replaces the labels", users: editors, on: "cm", line: strategic + `{"metadata":{"labels":{"$patch":"replace","app":"web"}}}`, says: needsVerb},
	{number: 19, name: "$patch deletes the labels", users: editors, on: "cm", line: strategic + `{"metadata":{"labels":{"$patch":"delete"}}}`, says: needsVerb},
	{number: 19, name: "$patch replaces the metadata", users: editors, on: "cm", line: strategic + `{"metadata":{"$patch":"replace","name":"NAME","namespace":"{shop}"}}`, says: needsVerb},
	{number: 19, name: "$patch replaces the object", users: editors, on: "cm", line: strategic + `{"$patch":"replace","metadata":{"name":"NAME","namespace":"{shop}"}}`, says: needsVerb},
	{number: 19, name: "$patch deletes the metadata", users: editors, on: "cm", line: strategic + `{"metadata":{"$patch":"delete"}}`, says: "name must be provided"},
	{number: 19, name: "$patch deletes the object", users: editors, on: "cm", line: strategic + `{"$patch":"delete"}`, says: "name must be provided"},
	{number: 20, name: "merge patch with labels null", users: editors, on: "cm", line: merge + `{"metadata":{"labels":null}}`, says: needsVerb},
	{number: 21, name: "merge patch with metadata null", users: editors, on: "cm", line: merge + `{"metadata":null}`, says: "name must be provided"},
	{number: 22, name: "replace without the label", users: editors, on: "cm", line: "replace -f -", input: bare, says: needsVerb},
	{number: 22, name: "PUT without the label", users: editors, on: "cm", line: raw, input: bare, says: needsVerb},
	{number: 23, name: "deletionTimestamp", users: editors, on: "cm", line: merge + `{"metadata":{"labels":null,"deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":0}}`, says: "field is immutable"},
	{number: 23, name: "deletionGracePeriodSeconds", users: editors, on: "cm", line: merge + `{"metadata":{"labels":null,"deletionGracePeriodSeconds":0}}`, says: "field is immutable"},
	{number: 24, name: "generateName", users: editors, on: "cm", line: merge + `{"metadata":{"labels":null,"generateName":"NAME-"}}`, says: needsVerb},
	{number: 25, name: "managedFields reset", users: editors, on: "cm", line: merge + `{"metadata":{"managedFields":[{}]}}`},
	{number: 26, name: "apply by the manager of the label, without it", users: editors, on: "cm", line: "apply --server-side --field-manager=a-user -f -", input: bare, says: needsVerb},
	{number: 27, name: "apply by force with the label null", users: editors, on: "cm", line: "apply --server-side --force-conflicts --field-manager=NAME -f -",
		input: replaced(bare, `"metadata":{`, `"metadata":{"labels":{"holdfast.dev/deletion-protected":null},`), says: needsVerb},
	{number: 33, name: "status of a pod with labels null", users: "patcher wide", on: "pod", line: `patch pod NAME --subresource=status --type=merge -p {"metadata":{"labels":null},"status":{"phase":"Failed"}}`, says: needsVerb},
}

const (
	toOwner = `{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"none","uid":"` + anotherUID + `"}]}}`
	toMaker = `{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"none","uid":"` + anotherUID + `","controller":true}]}}`
)

// owners are attempts to have a pod deleted with an owner that does not exist.
var owners = []attempt{
	{number: 31, name: "a controller", users: "ed patcher wide", on: "pod", line: "patch pod NAME --type=merge -p " + toMaker, says: whileOwned},
	{number: 31, name: "an owner that is no controller", users: "ed patcher wide", on: "pod", line: "patch pod NAME --type=merge -p " + toOwner, says: whileOwned},
	{number: 32, name: "a controller, through the status", users: "patcher wide", on: "pod", line: "patch pod NAME --subresource=status --type=merge -p " + toMaker},
	{number: 32, name: "an owner that is no controller, through the status", users: "patcher wide", on: "pod", line: "patch pod NAME --subresource=status --type=merge -p " + toOwner},
}

func TestHeld_unprotecting(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.cast("ed", "nsadmin", "wide", "patcher")
	r.hold(unlabelings)
	r.hold(owners)
}
