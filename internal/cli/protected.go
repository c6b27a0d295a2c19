// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

const protectedHelp = `List the objects that carry a label which protects from deletion, or a mark of
Holdfast's which says that something else does: one line for each, and what it
does. LABEL is one that people set, or one of the marks:
  holdfast.dev/protected-by             a ResourceDeletionProtection selects it;
                                        VALUE is its name, or how many do
  holdfast.dev/protected-while-used-by  one with mode Cascading does
  holdfast.dev/holds-protected          something protected hangs below it
  holdfast.dev/protect-by-default       its namespace declares that, with the
                                        feature gate DeletionProtectionByDefault
DETAIL says more about marks: the reasons of the protections, or what is held.
"kubectl holdfast protections" lists the protections themselves.

Without --all-namespaces these are the objects of one namespace and the
Namespace object itself; with it, those of all namespaces and all cluster-scoped
ones. All kinds are looked through; what cannot be listed is reported on
standard error, and then the exit code is 1.

EFFECT is one of:
  protected                             nobody can delete the object
  protected: unknown value              the same; the value means nothing
  protected while in use                nobody can, until it is not in use
  protected: holds protected objects    nobody can, until these may be deleted
  protected, except from controllers    people cannot delete it, the controllers
                                        that make such objects can
  not protected: empty                  the label has no value
  not protected: unknown value          this label protects with Always only
  not protected: being deleted          it was marked for deletion before
  not protected: override in force      a DeletionOverride lets it be deleted
  not protected: no policy is asked     of this kind nothing can be protected
    about this kind
  not protected: label not in force     Holdfast does not read this label here
  not protected: namespace not in scope Holdfast does not act in this namespace
  not protected: only warned, audited   Holdfast's mode is Warn or Audit

-o json and -o yaml give a ProtectedList: items with namespace, group, version,
resource, kind, name, uid, label, value, protected (true or false), effect,
owner (the controller, if any), detail and created; and problems, the texts about what
is missing.`

// protectedOptions are what the command line of protected says.
type protectedOptions struct {
	selection
	output string
}

var protectedFormats = []string{"wide", "name", "json", "yaml"}

func newProtectedCommand(c *clients, runF func(*protectedOptions) error) *cobra.Command {
	o := &protectedOptions{}
	cmd := &cobra.Command{
		Use:   "protected",
		Short: "List what is protected from deletion",
		Long:  protectedHelp,
		Example: `  # What is protected in this namespace?
  kubectl holdfast protected

  # In the whole cluster, with owners and age
  kubectl holdfast protected -A -o wide`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if runF != nil {
				return runF(o)
			}
			return c.protected(cmd.Context(), o)
		},
	}
	o.addSelectorFlag(cmd)
	o.addAllNamespacesFlag(cmd)
	addOutputFlag(cmd, &o.output, protectedFormats)
	return cmd
}

func (o *protectedOptions) validate() error {
	if err := validateOutput(o.output, protectedFormats); err != nil {
		return err
	}
	return o.validateSelector()
}

func (c *clients) protected(ctx context.Context, o *protectedOptions) error {
	ns := ""
	if !o.allNamespaces {
		var err error
		if ns, err = c.Namespace(); err != nil {
			return err
		}
	}
	found, problems := c.labelled(ctx, ns, o.selector)
	declared, more := c.declaredRows(ctx, ns, o.selector)
	rows, problems := append(c.rows(ctx, found), declared...), append(problems, more...)
	sortRows(rows)
	if err := c.printProtected(o, ns, rows, problems); err != nil {
		return err
	}
	for _, err := range problems {
		c.Error(err)
	}
	if len(problems) > 0 {
		return errReported
	}
	return nil
}

// labelled finds the objects that carry a protecting label or a mark in a
// namespace, or everywhere where it is empty. Selectors cannot say "or": there is
// one list for each kind and label.
func (c *clients) labelled(ctx context.Context, namespace, selector string) ([]target, []error) {
	// What cannot be deleted needs no protection; this leaves out copies of
	// labels on what extension API servers compute, such as metrics of pods.
	kinds, problems := c.kinds(kindFilter{verbs: []string{"list", "delete"}, clusterScoped: namespace == ""})
	if len(kinds) == 0 {
		return nil, problems
	}
	var queries []query
	for _, k := range kinds {
		for _, label := range searched() {
			q := query{kind: k, namespace: namespace, selector: label}
			if selector != "" {
				q.selector += "," + selector
			}
			queries = append(queries, q)
		}
	}
	var found []target
	seen := map[types.UID]bool{} // several labels, or two API groups that serve one object
	problems = append(problems, c.sweep(ctx, queries, func(q query, o *metav1.PartialObjectMetadata) {
		if !seen[o.UID] {
			seen[o.UID] = true
			found = append(found, newTarget(q.kind, o))
		}
	})...)
	if namespace != "" {
		t, err := c.namespaceObject(ctx, namespace)
		switch {
		case apierrors.IsForbidden(err):
			problems = append(problems, fmt.Errorf("you may not read the Namespace object %s, and it was left out; ask for the RBAC verb get on namespaces", namespace))
		case err != nil:
			problems = append(problems, err)
		case len(carried(t.meta, allKeys())) > 0 && selects(selector, t.meta):
			found = append(found, t)
		}
	}
	return found, problems
}

func (c *clients) namespaceObject(ctx context.Context, name string) (target, error) {
	client, err := c.Metadata()
	if err != nil {
		return target{}, err
	}
	return get(ctx, client, namespacesKind, "", name)
}

// selects is for an object that was not found by a list.
func selects(selector string, o *metav1.PartialObjectMetadata) bool {
	s, err := labels.Parse(selector)
	return err == nil && s.Matches(labels.Set(o.Labels))
}

// row is one label of one object.
type row struct {
	target target
	label  string
	value  string
	effect effect
	// detail is what a mark says to people.
	detail string
}

// rows says what each label does.
func (c *clients) rows(ctx context.Context, found []target) []row {
	if len(found) == 0 {
		return nil
	}
	e := c.enforcement(ctx)
	switch {
	case e.Problem != "":
		c.Notef("note: %s; EFFECT assumes that Holdfast is installed and enforces", e.Problem)
	case len(e.rules().Keys) == 0:
		c.Notef("note: no policy of Holdfast is installed that refuses a delete: nothing is refused, and nothing is protected")
	case e.conditional():
		c.Notef("note: Holdfast's scope has patterns, and you may not get the Holdfast object, which names them; EFFECT assumes that all namespaces are in scope")
	}
	namespaces := c.namespaceLabels(ctx, e, found)
	var out []row
	for _, t := range found {
		at := placeOf(t.kind.GroupResource(), t.meta, namespaces[t.meta.Namespace])
		for _, k := range allKeys() {
			if value, ok := carries(t.meta, k); ok {
				r := row{target: t, label: k.Label, value: value, effect: effectOf(e, k, t.kind.GroupResource(), t.meta, at)}
				if k.Mark != "" {
					r.detail = t.meta.Annotations[k.Label]
				}
				out = append(out, r)
			}
		}
	}
	return out
}

func sortRows(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(
			strings.Compare(a.target.meta.Namespace, b.target.meta.Namespace),
			compareKinds(a.target.kind, b.target.kind),
			strings.Compare(a.target.meta.Name, b.target.meta.Name),
		)
	})
}

// namespaceLabels are the labels of the objects' namespaces, where a policy may
// depend on them. A namespace that cannot be read is missing.
func (c *clients) namespaceLabels(ctx context.Context, e enforcement, found []target) map[string]map[string]string {
	if !e.narrowed() {
		return nil
	}
	var names []string
	for _, t := range found {
		if t.meta.Namespace != "" {
			names = append(names, t.meta.Namespace)
		}
	}
	slices.Sort(names)
	out := map[string]map[string]string{}
	inOrder(ctx, slices.Compact(names),
		func(ctx context.Context, name string) target {
			t, err := c.namespaceObject(ctx, name)
			if err != nil {
				return target{}
			}
			return t
		},
		func(name string, t target) {
			if t.meta != nil {
				out[name] = t.meta.Labels
			}
		})
	return out
}
