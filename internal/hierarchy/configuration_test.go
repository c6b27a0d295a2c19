// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// group of the kinds of a test.
func (r *rig) group() string { return r.prefix + ".example.com" }

// define makes a kind of the test's own, such as "thing" for things.PREFIX.example.com,
// which Holdfast has no rights for. A plain one has no subresource for its status.
func (r *rig) define(kind, scope string, plain bool) {
	r.t.Helper()
	subresources := `{"status":{}}`
	if plain {
		subresources = "{}"
	}
	r.kinds[kind] = schema.GroupVersionKind{Group: r.group(), Version: "v1", Kind: strings.ToUpper(kind[:1]) + kind[1:]}
	r.patch(r.Client, "crd", kind+"s.{.}.example.com", fmt.Sprintf(`{"spec":{"group":%q,"scope":%q,
		"names":{"plural":"%ss","singular":%q,"kind":%q,"listKind":"%sList"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},
			"subresources":%s}]}}`,
		r.group(), scope, kind, kind, r.kinds[kind].Kind, r.kinds[kind].Kind, subresources))
	r.Eventually(func() error {
		_, err := r.Client.RESTMapper().RESTMapping(r.kinds[kind].GroupKind(), "v1")
		if meta.IsNoMatchError(err) {
			return err
		}
		return nil
	}, patience, often).Should(gomega.Succeed())
	r.see("field crd "+kind+"s.{.}.example.com status.acceptedNames.kind", r.kinds[kind].Kind)
}

// permit gives Holdfast the rights for a kind of the test's own.
func (r *rig) permit(kind string) {
	r.t.Helper()
	r.Grant(r.t, "", guard, rbacv1.PolicyRule{APIGroups: []string{r.group()}, Resources: []string{kind + "s"}, Verbs: []string{"*"}})
}

// mode sets that of a kind; "-" takes the entry away.
func (r *rig) mode(group, resource, mode string) {
	r.t.Helper()
	spec := hncv1alpha2.ResourceSpec{Group: group, Resource: resource, Mode: hncv1alpha2.SynchronizationMode(mode)}
	if mode != "-" {
		r.list(spec)
		return
	}
	r.configure(func(c *hncv1alpha2.HNCConfigurationSpec) {
		c.Resources = slices.DeleteFunc(c.Resources, func(s hncv1alpha2.ResourceSpec) bool {
			return s.Group == spec.Group && s.Resource == spec.Resource
		})
	})
}

// status is that of the HNCConfiguration.
func (r *rig) status() hncv1alpha2.HNCConfigurationStatus {
	r.t.Helper()
	c := &hncv1alpha2.HNCConfiguration{}
	if u := r.get("hnc", hncv1alpha2.HNCConfigurationName); u != nil {
		r.into(u, c)
	}
	return c.Status
}

// counts say in which mode a kind of the test's own is, and how many copies and
// sources of it there are.
func (r *rig) counts(resource string) string {
	r.t.Helper()
	for _, s := range r.status().Resources {
		if s.Group == r.group() && s.Resource == resource {
			text := string(s.Mode)
			if s.NumPropagatedObjects != nil {
				text += fmt.Sprintf(", %d copies", *s.NumPropagatedObjects)
			}
			if s.NumSourceObjects != nil {
				text += fmt.Sprintf(", %d sources", *s.NumSourceObjects)
			}
			return text
		}
	}
	return none
}

// condition of the HNCConfiguration.
func (r *rig) condition(kind, reason string) *metav1.Condition {
	r.t.Helper()
	for _, c := range r.status().Conditions {
		if c.Type == kind && c.Reason == reason {
			return &c
		}
	}
	return nil
}

// part is the part of the message of a condition of the HNCConfiguration that a
// text is in. Other tests have their own.
func (r *rig) part(kind, reason, containing string) string {
	r.t.Helper()
	if c := r.condition(kind, reason); c != nil {
		for p := range strings.SplitSeq(c.Message, "; ") {
			if strings.Contains(p, containing) {
				return p
			}
		}
	}
	return none
}

// exclude has the HNCConfiguration exclude a namespace, or not any more.
func (r *rig) exclude(short string, yes bool) {
	r.t.Helper()
	r.configure(func(c *hncv1alpha2.HNCConfigurationSpec) {
		c.ExcludedNamespaces = slices.DeleteFunc(c.ExcludedNamespaces, func(n string) bool { return n == r.name(short) })
		if yes {
			c.ExcludedNamespaces = append(c.ExcludedNamespaces, r.name(short))
		}
	})
}

// unreadable adds a version to a CRD that the API server prefers, and cannot
// convert to.
const unreadable = `{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"}}},` +
	`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},` +
	`{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

func TestModes(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"a kind that is not listed is left alone, and a custom one can be listed", `
			tree a b<a
			kind thing
			put thing a/x v=1
			fence
			see copies thing x: a
			mode things Propagate
			see copies thing x: a b<a
			see field thing b/x spec: map[v:1]
			see counts things: Propagate, 1 copies, 1 sources
		`},
		{"a kind can be listed before it exists", `
			tree a b<a
			mode widgets Propagate
			see problem ResourceNotFound: the API server serves no resource widgets.{.}.example.com
			kind widget
			put widget a/x v=1
			see copies widget x: a b<a
			see problem ResourceNotFound: -
		`},
		{"AllowPropagate copies what asks for it", `
			tree a b<a
			kind thing
			put thing a/x v=1
			put thing a/y @propagate.hnc.x-k8s.io/all=true
			mode things AllowPropagate
			see copies thing y: a b<a
			see copies thing x: a
			see counts things: AllowPropagate, 1 copies, 2 sources
		`},
		{"Remove takes copies away and leaves sources, and Propagate brings them back", `
			tree a b<a c<b
			kind thing
			put thing a/x v=1
			put thing b/y v=1
			mode things Propagate
			see copies thing x: a b<a c<a
			mode things Remove
			see copies thing x: a
			see copies thing y: b
			see counts things: Remove, 0 copies
			put thing a/z v=1
			past put thing c/w +hnc.x-k8s.io/inherited-from={a}
			see copies thing w:
			see copies thing z: a
			mode things Propagate
			see copies thing x: a b<a c<a
			see copies thing z: a b<a c<a
		`},
		{"Ignore leaves copies as they are, and Propagate takes them up again", `
			tree a b<a
			kind thing
			put thing a/x v=1
			put thing a/y v=1
			mode things Propagate
			see copies thing x: a b<a
			see copies thing y: a b<a
			mode things Ignore
			see counts things: Ignore
			set thing a/x {"spec":{"v":"2"}}
			delete thing a/y
			fence
			see field thing b/x spec: map[v:1]
			see copies thing y: b<a
			mode things Propagate
			see field thing b/x spec: map[v:2]
			see copies thing y:
		`},
		{"the resource can be named in the singular", `
			tree a b<a
			kind thing
			put thing a/x v=1
			mode thing Propagate
			see copies thing x: a b<a
			see counts thing: Propagate, 1 copies, 1 sources
			see guarded thing b/x: yes
		`},
		{"copies are guarded while their kind is copied", `
			tree a b<a
			kind thing
			put thing a/x v=1
			mode things AllowPropagate
			past put thing b/y v=1 +hnc.x-k8s.io/inherited-from={a} !example.com/held
			see guarded thing b/y: yes
			see guarded thing a/x: no
			mode things Ignore
			see guarded thing b/y: no
			mode things Propagate
			see guarded thing b/y: yes
			see guarded thing b/x: yes
			mode things Remove
			see guarded thing b/y: no
			past set thing b/y {"metadata":{"finalizers":null}}
			see copies thing y:
		`},
		{"a kind that is not in namespaces is a problem", `
			kind plan Cluster
			mode plans Propagate
			see problem ResourceNotNamespaced: the resource plans.{.}.example.com is not in namespaces
			mode plans -
			see problem ResourceNotNamespaced: -
		`},
		{"a kind that may not be written is told of, until it may; others go on", `
			tree a b<a
			kind thing
			kind secretive unpermitted
			put thing a/x v=1
			put secretive a/x v=1
			mode secretives Propagate
			mode things Propagate
			see copies thing x: a b<a
			see events secretive a/x: CannotPropagateObject
			see complete b: False CannotCopy
			see lacking secretives: create, update, delete
			permit secretive
			see lacking secretives: -
			see copies secretive x: a b<a
			see complete b: True Copied
		`},
		{"a kind that cannot be listed is a problem", `
			list authorization.k8s.io/localsubjectaccessreviews Propagate
			see problem Unknown localsubjectaccessreviews: objects of localsubjectaccessreviews.authorization.k8s.io cannot be listed, watched and written
			list authorization.k8s.io/localsubjectaccessreviews -
			see problem Unknown localsubjectaccessreviews: -
		`},
		{"Roles are copied, whatever is listed", `
			tree a b<a
			put role a/x
			see copies role x: a b<a
			list rbac.authorization.k8s.io/roles Remove
			see problem MultipleConfigurationsForType roles.rbac: the resource roles.rbac.authorization.k8s.io is configured more than once: the first entry counts
			fence
			see copies role x: a b<a
			list rbac.authorization.k8s.io/roles -
		`},
	})
	runLong(t, []row{
		{"an entry without a mode copies", `
			tree a b<a
			kind thing
			put thing a/x v=1
			mode things
			see copies thing x: a b<a
			see counts things: Propagate, 1 copies, 1 sources
		`},
		{"Propagate to AllowPropagate takes away what does not ask, and back", `
			tree a b<a
			kind thing
			put thing a/x v=1
			put thing a/y @propagate.hnc.x-k8s.io/all=true
			mode things Propagate
			see copies thing x: a b<a
			mode things AllowPropagate
			see copies thing x: a
			see copies thing y: a b<a
			mode things Propagate
			see copies thing x: a b<a
		`},
		{"a kind that is taken out of the list is left as it is", `
			tree a b<a
			kind thing
			put thing a/x v=1
			mode things Propagate
			see copies thing x: a b<a
			mode things -
			see counts things: -
			set thing a/x {"spec":{"v":"2"}}
			past delete thing b/x
			fence
			see copies thing x: a
			mode things Propagate
			see copies thing x: a b<a
		`},
		{"a kind whose CRD goes takes its copies with it, and can come back", `
			tree a b<a
			kind thing
			put thing a/x v=1
			mode things Propagate
			see copies thing x: a b<a
			delete crd things.{.}.example.com
			see problem ResourceNotFound: the API server serves no resource things.{.}.example.com
			see counts things: -
			kind thing
			put thing a/y v=1
			see copies thing y: a b<a
		`},
		{"of two entries for one kind the first counts", `
			tree a b<a
			kind thing
			put thing a/x v=1
			mode things AllowPropagate
			mode thing Propagate
			see problem MultipleConfigurationsForType: the resource thing.{.}.example.com is configured more than once: the first entry counts
			fence
			see copies thing x: a
			mode things -
			see copies thing x: a b<a
			see problem MultipleConfigurationsForType: -
		`},
		{"a kind that cannot be read is out of sync, until it can; others go on", `
			tree a b<a
			kind thing
			put thing a/x v=1
			mode things Propagate
			see copies thing x: a b<a
			set crd things.{.}.example.com ` + unreadable + `
			see unsynced things: yes
			put cm a/y v=1
			see copies cm y: a b<a
			set crd things.{.}.example.com {"spec":{"conversion":{"strategy":"None","webhook":null}}}
			see unsynced things: no
			fence
			see copies thing x: a b<a
			put thing a/z v=1
			see copies thing z: a b<a
		`},
		{"a status is not copied, and that of a copy stays", `
			tree a b<a
			kind note plain
			put note a/x v=1
			set note a/x {"status":{"of":"source"}}
			mode notes Propagate
			see copies note x: a b<a
			see field note b/x status: -
			set note b/x {"status":{"of":"copy"}}
			set note a/x {"spec":{"v":"2"}}
			see field note b/x spec: map[v:2]
			see field note b/x status: map[of:copy]
		`},
	})
}
