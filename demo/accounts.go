// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

const (
	accountsTitle = "A custom resource gives its service account a cloud role, and what people have set stays"
	roleKey       = "eks.amazonaws.com/role-arn"
)

// connects are two connectors. The account of the second was made by people, before it.
const connects = `
apiVersion: v1
kind: ServiceAccount
metadata:
  name: bank-connect
  annotations: {owned-by: team-bank}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnect
metadata: {name: shop}
spec: {template: {serviceAccount: {metadata: {annotations: {` + roleKey + `: "arn:aws:iam::111122223333:role/shop"}}}}}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnect
metadata: {name: bank}
spec: {template: {serviceAccount: {metadata: {annotations: {` + roleKey + `: "arn:aws:iam::111122223333:role/bank", cost-centre: bank}}}}}
`

// accountFiles are the kinds of Strimzi, and the rights to write service accounts.
var accountFiles = []string{"-f", "internal/testkit/strimzi/crds.yaml", "-f", "config/rbac/serviceaccounts.yaml"}

// serviceAccounts are told on a local control plane only: another may have Strimzi.
func serviceAccounts(p place) chapter {
	if !p.local {
		return chapter{title: accountsTitle, about: "Left out: it needs the kinds of Strimzi, which may be somebody's here"}
	}
	in := func(args ...string) []string { return append(args, "-n", p.namespace) }
	turn := func(mode, gate string) []string {
		return []string{
			"patch", "configmap", "holdfast", "-n", "holdfast-system", "--type=merge", "-p",
			keepTreesAnd(p, `featureGates: {ServiceAccountPatching: `+gate+`}\nserviceAccounts: {mode: `+mode+`}\n`),
		}
	}
	annotations := func(account string) []string {
		return in("get", "serviceaccount", account, "-o", "jsonpath={.metadata.annotations}")
	}
	return chapter{title: accountsTitle, steps: []step{
		{
			why:     "Here the kinds of Strimzi stand for those of any operator",
			kubectl: append([]string{"apply", "--server-side"}, accountFiles...), says: "kafkaconnects.kafka.strimzi.io serverside-applied",
		},
		{kubectl: in("apply", "--server-side", "-f", "-"), stdin: connects, says: "kafkaconnect.kafka.strimzi.io/bank serverside-applied", soon: true},
		{
			why:     "Before anything is turned on, one sees what it would do (it exits with 1 if there is something)",
			kubectl: in("holdfast", "serviceaccount", "plan"), refused: true, says: "2 accounts, 2 would change",
		},
		{
			why:     "Without the feature gate an account gets what its template says when it is made, and one that is there stays as it is",
			kubectl: turn("Enforce", "false"), says: "patched",
		},
		{kubectl: annotations("shop-connect"), says: "role/shop", soon: true},
		{kubectl: annotations("bank-connect"), says: `{"owned-by":"team-bank"}`},
		{
			why:     "With the gate it gets what is new, and keeps what it had. It gets no role: who may write the connector does not decide what pods of an account may do that somebody else has made",
			kubectl: turn("Enforce", "true"), says: "patched",
		},
		{kubectl: annotations("bank-connect"), says: `"cost-centre":"bank"`, soon: true},
		{kubectl: annotations("bank-connect"), says: `"owned-by":"team-bank"`},
		{kubectl: in("holdfast", "serviceaccount", "plan"), says: "2 accounts, none would change; 1 conflict"},
		{
			why:     "An account that people made is theirs: it stays when its connector goes, without what it had from it",
			kubectl: in("delete", "kafkaconnect", "--all"), says: `"shop" deleted`,
		},
		{kubectl: annotations("bank-connect"), says: `{"owned-by":"team-bank"}`, soon: true},
		{kubectl: in("get", "serviceaccount", "shop-connect"), refused: true, says: "not found", soon: true},
	}}
}
