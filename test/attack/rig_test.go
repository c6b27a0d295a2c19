// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"testing"

	"github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// rig is a Story with tenants.
type rig struct{ *story.Story }

func shared(t *testing.T) *rig {
	t.Helper()
	return &rig{story.New(t)}
}

// event waits until an Event about an object of the namespace has a reason.
func (r *rig) event(namespace, name, reason string) {
	r.T.Helper()
	r.Eventually(func() ([]string, error) {
		var all eventsv1.EventList
		err := r.Client.List(r.T.Context(), &all, client.InNamespace(r.Long(namespace)))
		var out []string
		for _, e := range all.Items {
			if e.Regarding.Name == r.Long(name) {
				out = append(out, e.Reason)
			}
		}
		return out, err
	}, story.Patience, story.Often).Should(gomega.ContainElement(reason), name)
}

// tenant makes a namespace with a user {nsadmin}, who is its admin.
func (r *rig) tenant(namespace string) {
	r.T.Helper()
	r.Apply(`{apiVersion: v1, kind: Namespace, metadata: {name: "` + namespace + `"}}` + "\n---\n" + binding(namespace, "admin", "admin", nsadmin, ""))
}

// nsadmin is the subject of the bindings of a tenant.
const nsadmin = `{apiGroup: rbac.authorization.k8s.io, kind: User, name: "{nsadmin}"}`

// binding is a RoleBinding to a ClusterRole.
func binding(namespace, name, role, subject, labels string) string {
	return fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %q, namespace: %q, labels: {%s}},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}, subjects: [%s]}`+"\n---\n", name, namespace, labels, role, subject)
}

func cm(namespace, name string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %q}}\n---\n", name, namespace)
}
