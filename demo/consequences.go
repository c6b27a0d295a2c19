// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// protection selects a ConfigMap that carries no label.
func protection(ns string) string {
	return `
apiVersion: holdfast.dev/v1alpha1
kind: ResourceDeletionProtection
metadata: {name: ` + ns + `}
spec:
  reason: the shop's settings
  message: ask the shop's owners
  protectedResources:
  - resourceSelector:
    - {apiVersion: v1, kind: ConfigMap, namespace: ` + ns + `, name: settings}
`
}

func consequences(ns string) chapter {
	in := func(args ...string) []string { return append(args, "-n", ns) }
	return chapter{title: "Nothing protected goes down with what it hangs below, and there is a way out", steps: []step{
		{
			why:     "A namespace refuses to go while something protected is in it, and says what",
			kubectl: []string{"delete", "namespace", ns}, refused: true, says: "3 protected objects: deployments.apps/mysql, persistentvolumeclaims/mysql-data, services/mysql", soon: true,
		},
		{
			why:     "All of what would happen, before the fact",
			kubectl: []string{"holdfast", "why", "delete", "namespace", ns}, refused: true, says: "mysql-data",
		},
		{
			why:     "Protection by rule needs no label on the object, and says whom to ask",
			kubectl: in("create", "configmap", "settings", "--from-literal=currency=EUR"), says: "created",
		},
		{kubectl: []string{"apply", "-f", "-"}, stdin: protection(ns), says: "created"},
		{kubectl: []string{"wait", "--for=condition=Ready", "resourcedeletionprotection/" + ns, "--timeout=30s"}, says: "condition met", soon: true},
		{kubectl: in("delete", "configmap", "settings"), refused: true, says: "ask the shop's owners", soon: true},
		{
			why:     "An override lets one object go, once, with a reason and an end",
			kubectl: in("holdfast", "override", "ask", "pvc", "mysql-data", "--reason", "the data has moved", "--for", "15m", "--wait"), says: "mysql-data",
		},
		{kubectl: in("delete", "pvc", "mysql-data"), says: "deleted"},
		{
			why:     "Who asked, why, and that it was used, stays on record",
			kubectl: []string{"holdfast", "override", "list"}, says: "Used", soon: true,
		},
		{kubectl: []string{"delete", "resourcedeletionprotection", ns}, says: "deleted"},
	}}
}
