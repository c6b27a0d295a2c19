// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const (
	webhooks    = "validatingwebhookconfiguration holdfast-guard"
	writtenBy   = "Holdfast writes this webhook configuration itself"
	notHeld     = "is attempting to grant RBAC permissions not currently held"
	toUnprotect = `"rules":[{"apiGroups":["holdfast.dev"],"resources":["resourcedeletionprotections"],"verbs":["unprotect"]}]`
	anotherUID  = "00000000-0000-4000-8000-000000000000"
)

// itself are attempts on what Holdfast needs, and to grant oneself the verb unprotect.
var itself = []attempt{
	{number: 59, name: "webhooks deleted", users: "wide", on: webhooks, line: "delete " + webhooks, says: writtenBy},
	{number: 59, name: "webhooks deleted as a collection", users: "wide", on: webhooks, line: "delete --raw /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?fieldSelector=metadata.name%3Dholdfast-guard", says: writtenBy},
	{number: 59, name: "webhooks emptied", users: "wide", on: webhooks, line: "patch " + webhooks + ` --type=merge -p {"webhooks":[]}`, says: writtenBy},
	{number: 59, name: "webhooks given an owner that does not exist", users: "wide", on: webhooks, line: "patch " + webhooks + ` --type=merge -p {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"none","uid":"` + anotherUID + `"}]}}`, says: writtenBy},
	{number: 67, name: "a ClusterRole of one's own", users: "wide", line: "create -f -", input: `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"{own}"},` + toUnprotect + "}", says: notHeld, absent: "clusterrole {own}"},
	{number: 67, name: "a Role of one's own", users: "nsadmin wide", line: "create -f -", input: `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"own","namespace":"{shop}"},` + toUnprotect + "}", says: notHeld, absent: "role own -n {shop}"},
	{number: 67, name: "a RoleBinding to cluster-admin", users: "nsadmin wide", line: "create rolebinding own --clusterrole=cluster-admin --user=none", says: notHeld, absent: "rolebinding own -n {shop}"},
	{number: 68, name: "a ClusterRole that admin aggregates", users: "wide", line: "create -f -", input: `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"{more}","labels":{"rbac.authorization.k8s.io/aggregate-to-admin":"true"}},` + toUnprotect + "}", says: notHeld, absent: "clusterrole {more}"},
	{number: 68, name: "a rule of a ClusterRole that admin aggregates", users: "wide", on: "clusterrole system:aggregate-to-admin", line: "patch clusterrole system:aggregate-to-admin --type=merge -p {" + toUnprotect + "}", says: notHeld},
}

func TestHeld_itself(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.cast("nsadmin", "wide")
	r.hold(itself)
}
