// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "context"

const mysql = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: mysql, labels: {app: mysql}}
spec:
  replicas: 0 # nothing has to run to be protected
  selector: {matchLabels: {app: mysql}}
  template:
    metadata: {labels: {app: mysql}}
    spec: {containers: [{name: mysql, image: mysql}]}
---
apiVersion: v1
kind: Service
metadata: {name: mysql, labels: {app: mysql}}
spec: {selector: {app: mysql}, ports: [{port: 3306}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: mysql-data, labels: {app: mysql}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Secret
metadata: {name: mysql-root, labels: {app: mysql}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: scratch}
`

const tenant = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: dev}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dev}]
`

func protectionByLabel(ns string) chapter {
	const karmada = "resourcetemplate.karmada.io/deletion-protected"
	in := func(args ...string) []string { return append(args, "-n", ns) }
	return chapter{title: "A labelled object cannot be deleted by accident", steps: []step{
		{kubectl: []string{"create", "namespace", ns}},
		{kubectl: in("apply", "-f", "-"), stdin: mysql, says: "deployment.apps/mysql created"},
		{
			why:     "Everything of one application at once, whatever kind it is",
			kubectl: in("holdfast", "protect", "-l", "app=mysql"), says: "secret/mysql-root protected",
		},
		{kubectl: in("holdfast", "protected"), says: "deployments.apps/mysql"},
		{
			why:     "Not even a cluster administrator deletes it by accident",
			kubectl: in("delete", "deployment", "mysql"), refused: true, says: "is protected from deletion",
		},
		{kubectl: in("delete", "pvc", "--all", "--force", "--grace-period=0"), refused: true, says: "mysql-data is protected from deletion"},
		{kubectl: in("delete", "service,secret", "-l", "app=mysql"), refused: true, says: "mysql-root is protected from deletion"},
		{
			why:     "The reason, before the fact, by the same rules",
			kubectl: in("holdfast", "why", "delete", "service", "mysql"), refused: true, says: "holdfast-deletion-holdfast",
		},
		{
			why:     "Taking the label away is a right of its own: dev may edit everything here, and not that",
			kubectl: in("apply", "-f", "-"), stdin: tenant, says: "created",
		},
		{kubectl: in("label", "service", "mysql", "holdfast.dev/deletion-protected-", "--as=dev"), refused: true, says: `needs the RBAC verb "unprotect"`, soon: true},
		{
			why:     "Karmada's users keep their label and its words, and stay as free as they were to take it away",
			kubectl: in("label", "configmap", "scratch", karmada+"=Always"), says: "labeled",
		},
		{kubectl: in("delete", "configmap", "scratch"), refused: true, says: "This resource is protected, please make sure to remove the label: " + karmada},
		{why: "A typing error is not silently no protection", kubectl: in("label", "configmap", "scratch", "holdfast.dev/deletion-protected=true"), refused: true, says: "may be Always or Cascading"},
		{kubectl: in("label", "configmap", "scratch", karmada+"-"), says: "unlabeled"},
		{kubectl: in("delete", "configmap", "scratch"), says: "deleted"},
		{why: "The way out, for whoever may", kubectl: in("holdfast", "unprotect", "secret/mysql-root"), says: "unprotected"},
		{kubectl: in("delete", "secret", "mysql-root"), says: "deleted"},
	}}
}

func outage(p place) chapter {
	in := func(args ...string) []string { return append(args, "-n", p.namespace) }
	steps := []step{
		{does: "the manager is killed, as in a crash", do: func(_ context.Context, s *stage) error { return s.manager.Kill() }},
		{kubectl: in("delete", "deployment", "mysql"), refused: true, says: "is protected from deletion"},
		{kubectl: in("create", "configmap", "unrelated")},
		{kubectl: in("delete", "configmap", "unrelated"), says: "deleted"},
	}
	if p.tellsTrees() {
		steps = append(steps, step{kubectl: in("create", "role", "operator", "--verb=create", "--resource=pods/exec"), says: "created"})
	}
	steps = append(steps, []step{
		{does: "the manager starts again", do: func(ctx context.Context, s *stage) error { return s.startManager(ctx) }},
		{
			why:     "A policy that somebody deletes is back within seconds",
			kubectl: []string{"delete", "validatingadmissionpolicy", "holdfast-deletion-holdfast"}, says: "deleted",
		},
		{kubectl: in("delete", "deployment", "mysql", "--dry-run=server"), refused: true, says: "is protected from deletion", soon: true},
	}...)
	if p.tellsTrees() {
		steps = append(steps, step{
			why:     "What was to be copied meanwhile is",
			kubectl: []string{"get", "role", "operator", "-n", stageNext(p.namespace)}, says: "operator", soon: true,
		})
	}
	return chapter{title: "With Holdfast down, the protected stays protected and the rest goes on", steps: steps}
}

func emergencyStop(ns string) chapter {
	in := func(args ...string) []string { return append(args, "-n", ns) }
	return chapter{title: "When Holdfast itself is in the way: two commands stop it, and no accident does", steps: []step{
		{kubectl: []string{"delete", "clusterrole", "holdfast-anchor"}, refused: true, says: "kubectl annotate clusterrole holdfast-anchor holdfast.dev/stop=holdfast-anchor"},
		{kubectl: []string{"annotate", "clusterrole", "holdfast-anchor", "holdfast.dev/stop=holdfast-anchor"}, says: "annotated"},
		{kubectl: []string{"delete", "clusterrole", "holdfast-anchor"}, says: "deleted"},
		{kubectl: in("delete", "service", "mysql"), says: "deleted", soon: true},
		{why: "Making it again starts everything again", kubectl: []string{"apply", "--server-side", "-f", "config/install/anchor.yaml"}, says: "holdfast-anchor"},
		{kubectl: in("delete", "deployment", "mysql", "--dry-run=server"), refused: true, says: "is protected from deletion", soon: true},
	}}
}
