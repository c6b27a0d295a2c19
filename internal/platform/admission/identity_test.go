// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"os"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Run(m)) }

const (
	// container is one that may run in the namespace; nothing runs it.
	container = `{name: c, image: none, securityContext: {allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}}`
	podSpec   = `{serviceAccountName: holdfast-guard, automountServiceAccountToken: false, containers: [` + container + `]}`
	jobSpec   = `{template: {spec: {restartPolicy: Never, containers: [` + container + `]}}}`
	template  = `{metadata: {labels: {app: stranger}}, spec: ` + podSpec + `}`
	selector  = `selector: {matchLabels: {app: stranger}}`
)

// deed is something that somebody does in Holdfast's namespace with kubectl.
type deed struct {
	name, stdin string
	args        []string
	// refusedBy is empty where the deed gives nobody Holdfast's identity or rights.
	refusedBy string
}

func made(name, refusedBy, yaml string) deed {
	return deed{name: name, stdin: yaml, args: []string{"create", "--dry-run=server", "-f", "-"}, refusedBy: refusedBy}
}

func patched(name, refusedBy, object, patch string) deed {
	return deed{name: name, args: []string{"patch", object, "--dry-run=server", "--type=strategic", "-p", patch}, refusedBy: refusedBy}
}

func asked(name, refusedBy string, args ...string) deed {
	return deed{name: name, args: args, refusedBy: refusedBy}
}

var deeds = []deed{
	asked("a token of the guard", admission.IdentityPolicyName, "create", "token", "holdfast-guard"),
	asked("a token of the namespace's own account", admission.IdentityPolicyName, "create", "token", "default"),
	made("a Secret for a token", admission.IdentityPolicyName,
		`{apiVersion: v1, kind: Secret, metadata: {name: t, annotations: {kubernetes.io/service-account.name: holdfast-guard}}, type: kubernetes.io/service-account-token}`),
	patched("a Secret that is for another token now", admission.IdentityPolicyName, "secret/poster", `{"metadata":{"annotations":{"kubernetes.io/service-account.name":"holdfast-guard"}}}`),
	made("a pod", admission.IdentityPolicyName, `{apiVersion: v1, kind: Pod, metadata: {name: stranger}, spec: `+podSpec+`}`),
	patched("another image in a pod that runs", admission.IdentityPolicyName, "pod/one", `{"spec":{"containers":[{"name":"c","image":"another"}]}}`),
	{name: "a container for debugging", args: []string{
		"patch", "pod/one", "--subresource=ephemeralcontainers", "--dry-run=server", "-p", `{"spec":{"ephemeralContainers":[{"name":"d","image":"none","securityContext":{"allowPrivilegeEscalation":false,"runAsNonRoot":true,"capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"}}}]}}`,
	}, refusedBy: admission.IdentityPolicyName},
	asked("exec", admission.IdentityPolicyName, "create", "--raw", "/api/v1/namespaces/holdfast-system/pods/one/exec?command=id&stdout=true", "-f", "/dev/null"),
	asked("attach", admission.IdentityPolicyName, "create", "--raw", "/api/v1/namespaces/holdfast-system/pods/one/attach?stdout=true", "-f", "/dev/null"),
	asked("port-forward", admission.IdentityPolicyName, "create", "--raw", "/api/v1/namespaces/holdfast-system/pods/one/portforward?ports=9443", "-f", "/dev/null"),
	asked("the proxy to a pod", admission.IdentityPolicyName, "get", "--raw", "/api/v1/namespaces/holdfast-system/pods/https:one:9443/proxy/drainer"),
	asked("the proxy to a Service", admission.IdentityPolicyName, "get", "--raw", "/api/v1/namespaces/holdfast-system/services/https:web:443/proxy/drainer"),
	made("a Deployment", admission.IdentityPolicyName, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: s}, spec: {`+selector+`, template: `+template+`}}`),
	made("a ReplicaSet", admission.IdentityPolicyName, `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: s}, spec: {`+selector+`, template: `+template+`}}`),
	made("a DaemonSet", admission.IdentityPolicyName, `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: s}, spec: {`+selector+`, template: `+template+`}}`),
	made("a StatefulSet", admission.IdentityPolicyName, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {serviceName: s, `+selector+`, template: `+template+`}}`),
	made("a ReplicationController", admission.IdentityPolicyName, `{apiVersion: v1, kind: ReplicationController, metadata: {name: s}, spec: {selector: {app: stranger}, template: `+template+`}}`),
	made("a Job", admission.IdentityPolicyName,
		`{apiVersion: batch/v1, kind: Job, metadata: {name: s}, spec: `+jobSpec+`}`),
	made("a CronJob", admission.IdentityPolicyName,
		`{apiVersion: batch/v1, kind: CronJob, metadata: {name: s}, spec: {schedule: "* * * * *", jobTemplate: {spec: `+jobSpec+`}}}`),
	patched("another image in a Deployment", admission.IdentityPolicyName, "deployment/web", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"another"}]}}}}`),
	patched("another image in a CronJob", admission.IdentityPolicyName, "cronjob/cron",
		`{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"another"}]}}}}}}`),
	made("a binding in the namespace", admission.IdentityPolicyName, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: s},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: holdfast-guard}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: stranger}]}`),
	patched("another subject in a binding", admission.IdentityPolicyName, "rolebinding/holdfast-guard",
		`{"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"stranger"}]}`),
	made("the ClusterRole of the guard for another", admission.BindingsPolicyName, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: s},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: holdfast-guard}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: stranger}]}`),
	made("the ClusterRole of the guard for another, elsewhere", admission.BindingsPolicyName, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: s, namespace: default},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: holdfast-guard}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: stranger}]}`),
	patched("another subject in the guard's binding", admission.BindingsPolicyName, "clusterrolebinding/holdfast-guard",
		`{"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"stranger"}]}`),

	// What goes on.
	made("a Secret", "", `{apiVersion: v1, kind: Secret, metadata: {name: s}}`),
	made("a binding of another role, elsewhere", "", `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: s, namespace: default},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: stranger}]}`),
	made("a pod elsewhere", "", `{apiVersion: v1, kind: Pod, metadata: {name: s, namespace: default}, spec: {containers: [{name: c, image: none}]}}`),
	patched("a label on a pod", "", "pod/one", `{"metadata":{"labels":{"a":"b"}}}`),
	patched("a label on a binding", "", "clusterrolebinding/holdfast-guard", `{"metadata":{"labels":{"a":"b"}}}`),
	patched("a label on a Deployment", "", "deployment/web", `{"metadata":{"labels":{"a":"b"}}}`),
	asked("more replicas", "", "scale", "deployment/web", "--replicas=1"),
	asked("a pod deleted", "", "delete", "pod/one", "--dry-run=server"),
	asked("a binding deleted", "", "delete", "clusterrolebinding/holdfast-guard", "--dry-run=server"),
}

// identityFixtures are what a cluster administrator has in the namespace.
const identityFixtures = `
{apiVersion: v1, kind: Pod, metadata: {name: one}, spec: ` + podSpec + `}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 443}]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: poster, annotations: {kubernetes.io/service-account.name: default}}, type: kubernetes.io/service-account-token}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: ` + podSpec + `}}}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: cron}, spec: {schedule: "0 0 1 1 *", jobTemplate: {spec: ` + jobSpec + `}}}
`

// Whoever has every right in Holdfast's namespace, and may bind roles everywhere, does not
// get its identity or its rights by that.
func TestIdentity_isForWhoMayOperateHoldfast(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	e.Apply(t, "holdfast-system", identityFixtures)
	defer e.Kubectl(t, "delete", "-n", "holdfast-system", "pod/one", "service/web", "secret/poster", "deployment/web", "cronjob/cron")
	bind := testkit.Rule("rbac.authorization.k8s.io", []string{"clusterrolebindings", "rolebindings", "clusterroles", "roles"}, "bind", "get", "create", "patch", "delete")
	for _, user := range []string{"stranger", "operator"} {
		e.Grant(t, "holdfast-system", user, testkit.Rule("*", []string{"*"}, "*"))
		e.Grant(t, "default", user, testkit.Rule("", []string{"pods"}, "create"))
		e.Grant(t, "", user, bind)
	}
	e.Grant(t, "", "operator", testkit.Rule(v1alpha1.GroupName, []string{v1alpha1.OperateResource}, v1alpha1.OperateVerb))
	g.Eventually(func() string {
		return e.Kubectl(t, "create", "token", "default", "-n", "holdfast-system", "--as=stranger").Stderr
	}, "180s", "100ms").Should(gomega.ContainSubstring(admission.IdentityPolicyName), "the policy is not in force")

	for _, d := range deeds {
		t.Run(d.name, func(t *testing.T) { // one after the other, which is fast enough
			args := append([]string{"-n", "holdfast-system"}, d.args...)
			if strings.Contains(d.stdin, "namespace: default") {
				args = d.args
			}
			out := e.KubectlInput(t, d.stdin, append(args, "--as=stranger")...)
			switch {
			case d.refusedBy == "" && out.Code != 0:
				t.Errorf("it is refused: %s", out.Stderr)
			case d.refusedBy != "" && !strings.Contains(out.Stderr, "'"+d.refusedBy+"'"):
				t.Errorf("a stranger is told, with %d: %s%s", out.Code, out.Stdout, out.Stderr)
			case d.refusedBy != "" && !strings.Contains(out.Stderr, `needs the RBAC verb "operate" on holdfasts.holdfast.dev, cluster-wide`):
				t.Errorf("the refusal does not say what it needs: %s", out.Stderr)
			}
			for _, as := range [][]string{{"--as=operator"}, nil} { // nil is a cluster administrator
				if out := e.KubectlInput(t, d.stdin, append(args, as...)...); strings.Contains(out.Stderr, "holdfast-self") {
					t.Errorf("%v is refused: %s", as, out.Stderr)
				}
			}
		})
	}
}

// The cluster's own parts go on: controllers make what an administrator asked for, and a
// kubelet fetches the tokens of its pods.
func TestIdentity_isForTheClustersOwnParts(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	g := gomega.NewWithT(t)
	e.Apply(t, "holdfast-system", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: rolls}, spec: {replicas: 1, selector: {matchLabels: {app: rolls}}, template: {metadata: {labels: {app: rolls}}, spec: `+podSpec+`}}}`)
	defer e.Kubectl(t, "delete", "-n", "holdfast-system", "deployment/rolls")
	pods := func() string {
		return e.Kubectl(t, "get", "pods", "-n", "holdfast-system", "-l", "app=rolls", "-o", "jsonpath={.items[*].spec.containers[*].image}").Stdout
	}
	g.Eventually(pods, "180s", "100ms").Should(gomega.Equal("none"))
	if out := e.Kubectl(t, "set", "image", "deployment/rolls", "c=another", "-n", "holdfast-system"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	g.Eventually(pods, "180s", "100ms").Should(gomega.ContainSubstring("another"))

	e.Grant(t, "holdfast-system", "system:node:one", testkit.Rule("", []string{"serviceaccounts/token"}, "create"))
	if out := e.Kubectl(t, "create", "token", "holdfast-guard", "-n", "holdfast-system", "--as=system:node:one", "--as-group=system:nodes"); out.Code != 0 {
		t.Errorf("a kubelet may not have a token: %s", out.Stderr)
	}
}
