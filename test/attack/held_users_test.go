// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

const (
	taintEviction = "system:serviceaccount:kube-system:taint-eviction-controller"
	kubelet       = "system:node:{.}"
)

// users are those who make the attempts, and what gives them their rights. None of them but una may unprotect.
var users = map[string]func(r *rig, user string){
	"ed":          func(r *rig, user string) { r.bind("{shop}", "edit", user) },
	"nsadmin":     func(r *rig, user string) { r.bind("{shop}", "admin", user) },
	"otherad":     func(r *rig, user string) { r.bind("{other}", "admin", user) },
	"sysed":       func(r *rig, user string) { r.bind("holdfast-system", "edit", user) },
	kubelet:       func(r *rig, user string) { r.bind("{shop}", "edit", user) },
	taintEviction: func(r *rig, user string) { r.bind("{shop}", "edit", user) },
	"patcher": func(r *rig, user string) {
		r.grant("{shop}", user, testkit.Rule("", []string{"pods", "pods/status", "pods/ephemeralcontainers", "pods/resize", "pods/binding"}, "patch", "update", "create", "get"))
	},
	"wide": func(r *rig, user string) {
		r.grant("", user, testkit.Rule("*", []string{"*"}, "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"))
	},
	"crdop": func(r *rig, user string) { r.grant("", user, testkit.Rule("apiextensions.k8s.io", []string{"*"}, "*")) },
	"una": func(r *rig, user string) {
		r.bind("{shop}", "edit", user)
		r.grant("{shop}", user, testkit.Rule("holdfast.dev", []string{"resourcedeletionprotections"}, "unprotect"))
		r.grant("", user, testkit.Rule("holdfast.dev", []string{"deletionoverrides"}, "create", "get"))
	},
	"kcuser": func(r *rig, user string) {
		r.grant("{shop}", user, testkit.Rule("kafka.strimzi.io", []string{"kafkaconnects"}, "*"))
	},
	"exown": func(r *rig, user string) {
		r.grant("{shop}", user, testkit.Rule(r.Long("{shop}.ex.io"), []string{"widgets", "widgets/status"}, "*"))
	},
}

// user is the name of one of users, or of an account of Kubernetes.
func (r *rig) user(name string) string {
	if strings.Contains(name, ":") {
		return r.Long(name)
	}
	return r.Long("{" + name + "}")
}

// as runs kubectl as a user, or as an administrator, with more arguments that may contain blanks.
func (r *rig) as(user, line, input string, more ...string) testkit.Output {
	r.T.Helper()
	args := strings.Fields(r.Long(line))
	for _, m := range more {
		args = append(args, r.Long(m))
	}
	if user != "" {
		args = append(args, "--as="+r.user(user))
	}
	return r.KubectlInput(r.T, r.Long(input), args...)
}

// do is as for what must succeed.
func (r *rig) do(user, line, input string) {
	r.T.Helper()
	r.Eventually(func() string {
		if out := r.as(user, line, input); out.Code != 0 {
			return out.Stderr
		}
		return ""
	}, story.Patience, story.Slower).Should(gomega.BeEmpty(), "%s: kubectl %s", user, line)
}

// get is what "kubectl get" prints for an administrator, with its errors.
func (r *rig) get(line string) string {
	r.T.Helper()
	out := r.as("", "get --ignore-not-found "+line, "")
	return out.Stdout + out.Stderr
}

// in is the rig of a subtest.
func (r *rig) in(t *testing.T) *rig {
	t.Helper()
	s := *r.Story
	s.T, s.WithT = t, gomega.NewWithT(t)
	return &rig{&s}
}

// cast creates the namespaces shop and other, and gives users their rights.
func (r *rig) cast(names ...string) {
	r.T.Helper()
	r.Apply(namespace("{shop}") + namespace("{other}"))
	for _, name := range names {
		users[name](r, r.user(name))
	}
}

func namespace(name string) string {
	return `{apiVersion: v1, kind: Namespace, metadata: {name: "` + name + `"}}` + "\n---\n"
}

func (r *rig) grant(namespace, user string, rules ...rbacv1.PolicyRule) {
	r.T.Helper()
	r.Grant(r.T, r.Long(namespace), user, rules...)
}

// bind binds the ClusterRole edit or admin in a namespace, and waits until the API server knows.
func (r *rig) bind(namespace, role, user string) {
	r.T.Helper()
	r.Apply(binding(namespace, namespace+"-"+user, role, `{apiGroup: rbac.authorization.k8s.io, kind: User, name: "`+user+`"}`, ""))
	review := authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: r.Long(namespace), Verb: "update", Resource: "configmaps"},
	}}
	r.Eventually(func() (bool, error) {
		out := review.DeepCopy()
		err := r.Client.Create(r.T.Context(), out)
		return out.Status.Allowed, err
	}, story.Patience, story.Often).Should(gomega.BeTrue(), user)
}
