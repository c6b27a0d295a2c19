// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/dynamic"
)

// fieldManager is whom the API server names as the owner of the labels.
const fieldManager = "kubectl-holdfast"

// change is what protect and unprotect do to the labels of an object.
type change struct {
	// participle is what the command does: "protected".
	participle string
	// check says what speaks against changing an object at all; nil for nothing.
	check func(t target) error
	// of returns the labels to write; a nil value takes one away, and nil is no
	// change. It says what became of the object.
	of func(t target) (set map[string]any, outcome string)
	// leaveOut says which objects are not touched when all kinds are looked
	// through.
	leaveOut func(t target) bool
	// onlyChanged keeps objects that need no change out of the output when all
	// kinds are looked through.
	onlyChanged bool
	// advise says what can be done about refusals.
	advise func(ctx context.Context, refused []target)
	// conclude says what is to be known of all that was changed; nil for nothing.
	conclude func(ctx context.Context, changed []target)
	// remains says what is still in the way once an object was changed, as an
	// error; nil where nothing can be.
	remains func(t target) error
	// remark is a note about an object that was changed; "" for none. It may be
	// nil.
	remark func(t target) string
}

// changer carries a change out.
type changer struct {
	*clients
	*changeOptions
	change change
	client dynamic.Interface
	// printer prints whole objects; nil where only their names are printed.
	printer printers.ResourcePrinter
}

func (c *clients) change(ctx context.Context, o *changeOptions, ch change) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	r := &changer{clients: c, changeOptions: o, change: ch, client: client}
	if o.structured() {
		if r.printer, err = o.print.ToPrinter(); err != nil {
			return err
		}
	}
	targets, problems := r.find(ctx)
	for _, err := range problems {
		c.Error(err)
	}
	if len(targets) == 0 && len(problems) == 0 {
		return r.nothingFound()
	}
	if failed := r.apply(ctx, targets); failed > 0 || len(problems) > 0 {
		if failed > 0 && len(targets) > 1 {
			c.Notef("%d of %d objects could not be %s", failed, len(targets), ch.participle)
		}
		return errReported
	}
	return nil
}

// find returns the objects that the command line means.
func (r *changer) find(ctx context.Context) ([]target, []error) {
	switch {
	case r.byName():
		return r.named(ctx, r.selection)
	case !r.everyKind():
		return r.ofTypes(r.selection)
	}
	return r.findEverywhere(ctx)
}

// findEverywhere looks for the selector in all kinds that have a namespace.
// Objects that controllers make are left out: what they are made from is what
// people protect.
func (r *changer) findEverywhere(ctx context.Context) ([]target, []error) {
	ns := ""
	if !r.allNamespaces {
		var err error
		if ns, err = r.Namespace(); err != nil {
			return nil, []error{err}
		}
	}
	kinds, problems := r.kinds(kindFilter{verbs: []string{"list", "patch"}})
	queries := make([]query, 0, len(kinds))
	for _, k := range kinds {
		queries = append(queries, query{kind: k, namespace: ns, selector: r.selector})
	}
	var targets []target
	var leftOut []string
	seen := map[types.UID]bool{} // some objects are served by two API groups
	problems = append(problems, r.sweep(ctx, queries, func(q query, o *metav1.PartialObjectMetadata) {
		t := newTarget(q.kind, o)
		set, _ := r.change.of(t)
		switch {
		case seen[o.UID], r.change.onlyChanged && set == nil:
		case r.change.leaveOut(t):
			leftOut = append(leftOut, q.kind.GroupResource().String())
		default:
			targets = append(targets, t)
		}
		seen[o.UID] = true
	})...)
	if len(leftOut) > 0 {
		r.Notef("%s", leftOutNote(leftOut))
	}
	return targets, problems
}

// leftOutNote counts the objects left out, by kind.
func leftOutNote(resources []string) string {
	slices.Sort(resources)
	var counts []string
	for i := 0; i < len(resources); {
		n := i
		for n < len(resources) && resources[n] == resources[i] {
			n++
		}
		counts = append(counts, fmt.Sprintf("%s %d", resources[i], n-i))
		i = n
	}
	what := "objects that controllers make were"
	if len(resources) == 1 {
		what = "object that controllers make was"
	}
	return fmt.Sprintf("%d %s left out: %s", len(resources), what, strings.Join(counts, ", "))
}

// nothingFound is an error, so that a typing error in a selector does not look
// like protection to a script.
func (r *changer) nothingFound() error {
	where := "any namespace"
	if !r.allNamespaces {
		ns, err := r.Namespace()
		if err != nil {
			return err
		}
		where = "namespace " + ns
	}
	what := "objects"
	if r.selector != "" {
		what += " with " + r.selector
	}
	if r.everyKind() && r.change.onlyChanged {
		what += " and a protecting label"
	}
	return fmt.Errorf("no %s found in %s; nothing was %s", what, where, r.change.participle)
}

// outcome is what became of one object.
type outcome struct {
	object  runtime.Object
	message string
	err     error
}

// apply changes the objects and prints what became of each. It returns how many
// failed.
func (r *changer) apply(ctx context.Context, targets []target) int {
	failed := 0
	var changed, refused []target
	inOrder(ctx, targets, r.one, func(t target, o outcome) {
		err := o.err
		if err == nil {
			err = r.printOutcome(t, o)
		}
		if err == nil {
			changed = append(changed, t)
			err = r.after(t)
		}
		if err == nil {
			return
		}
		failed++
		r.Error(err)
		if refusedByRule(err) {
			refused = append(refused, t)
		}
	})
	if len(refused) > 0 {
		r.change.advise(ctx, refused)
	}
	if len(changed) > 0 && r.change.conclude != nil {
		r.change.conclude(ctx, changed)
	}
	return failed
}

// after says what is to be known of an object that was changed.
func (r *changer) after(t target) error {
	if r.change.remark != nil {
		if text := r.change.remark(t); text != "" {
			r.Notef("%s", text)
		}
	}
	if r.change.remains == nil {
		return nil
	}
	return r.change.remains(t)
}

func (r *changer) one(ctx context.Context, t target) outcome {
	if r.change.check != nil {
		if err := r.change.check(t); err != nil {
			return outcome{err: fmt.Errorf("%s: %w", t.where(), err)}
		}
	}
	set, message := r.change.of(t)
	switch {
	case set != nil && r.dryRun != dryRunClient:
		object, err := r.patch(ctx, t, set)
		return outcome{object: object, message: message, err: err}
	case r.printer != nil:
		object, err := r.preview(ctx, t, set)
		return outcome{object: object, message: message, err: err}
	}
	return outcome{object: t.meta, message: message}
}

// patch writes the labels, and nothing if another object has the name by now.
func (r *changer) patch(ctx context.Context, t target, set map[string]any) (runtime.Object, error) {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": t.meta.UID, "labels": set}})
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: fieldManager}
	if r.dryRun == dryRunServer {
		options.DryRun = []string{metav1.DryRunAll}
	}
	object, err := r.client.Resource(t.kind.GroupVersionResource).Namespace(t.meta.Namespace).
		Patch(ctx, t.meta.Name, types.MergePatchType, body, options)
	if isOfAnother(err) {
		return nil, fmt.Errorf("%s was replaced by another object of this name in the meantime; look at it and run the command again", t.where())
	}
	if err != nil {
		return nil, err
	}
	return object, nil
}

// isOfAnother says whether a patch was refused because its UID is not that of
// the object. The API server takes it for an attempt to change the UID.
func isOfAnother(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

// preview is the whole object as it would become.
func (r *changer) preview(ctx context.Context, t target, set map[string]any) (runtime.Object, error) {
	object, err := r.client.Resource(t.kind.GroupVersionResource).Namespace(t.meta.Namespace).
		Get(ctx, t.meta.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for key, value := range set {
		if text, ok := value.(string); ok {
			labels[key] = text
		} else {
			delete(labels, key)
		}
	}
	object.SetLabels(labels)
	return object, nil
}

func (r *changer) printOutcome(t target, o outcome) error {
	if r.printer != nil {
		return r.printer.PrintObj(o.object, r.Out)
	}
	message := o.message
	if r.allNamespaces && t.meta.Namespace != "" {
		message += " in namespace " + t.meta.Namespace
	}
	switch r.dryRun {
	case dryRunClient:
		message += " (dry run)"
	case dryRunServer:
		message += " (server dry run)"
	}
	short := *r.print.OutputFormat == "name"
	return (&printers.NamePrinter{Operation: message, ShortOutput: short}).PrintObj(o.object, r.Out)
}
