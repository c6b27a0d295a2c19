// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

const (
	defaultOverride = "15m"
	maxOverride     = 24 * time.Hour
	nameLimit       = 63
	suffixLength    = 5
)

// askOptions are what the command line of override ask says.
type askOptions struct {
	selection
	reason          string
	duration        string
	includeContents bool
	wait            bool
	dryRun          string
	print           *genericclioptions.PrintFlags
}

func newOverrideAskCommand(c *clients, runF func(*askOptions) error) *cobra.Command {
	o := &askOptions{dryRun: dryRunNone, duration: defaultOverride, print: genericclioptions.NewPrintFlags("asked for")}
	cmd := &cobra.Command{
		Use:   "ask (TYPE NAME | TYPE/NAME) --reason WHY",
		Short: "Ask for an override",
		Long: `Ask for an override: create a DeletionOverride for one object, in your name.

It needs the RBAC verb "unprotect" in the namespace of the object, or, where the
configuration asks for consent, a second person who holds it.

While it is in force the object may be deleted by whoever may delete it. A
Namespace or CustomResourceDefinition that holds protected objects needs
--include-contents, and then all that is in it may go with it.`,
		Example: `  # Let a claim go, for a quarter of an hour
  kubectl holdfast override ask pvc data-db-2 -n shop --reason "scaled down, INC-4711"

  # A namespace with all that is in it, and wait until it is approved
  kubectl holdfast override ask namespace shop-test --include-contents --for 1h --reason "end of the test" --wait`,
		ValidArgsFunction: c.completeObjects,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			if err := o.validate(); err != nil {
				return err
			}
			return orTest(c.ask, runF)(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.reason, "reason", "", "Why it must go, for the record (required)")
	cmd.Flags().StringVar(&o.duration, "for", o.duration, "How long the override is in force, up to what the configuration allows")
	cmd.Flags().BoolVar(&o.includeContents, "include-contents", false, "Let what a Namespace or CustomResourceDefinition holds go as well")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "Wait until it is in force; for the consent of a second person, however long that takes")
	cmd.Flags().StringVar(&o.dryRun, "dry-run", dryRunNone, "none, client (change nothing and ask nobody) or server (let the API server judge it and keep nothing)")
	o.print.AddFlags(cmd)
	return cmd
}

// overrideDuration is what the API takes: no parts of a second.
var overrideDuration = regexp.MustCompile(`^(\d+[hms])+$`)

func (o *askOptions) validate() error {
	if err := o.validateOne(errOneOverride); err != nil {
		return err
	}
	if err := validateDryRun(o.dryRun); err != nil {
		return err
	}
	d, err := time.ParseDuration(o.duration)
	switch {
	case strings.TrimSpace(o.reason) == "":
		return usageError{errors.New("say why, for the record: --reason WHY")}
	case err != nil || !overrideDuration.MatchString(o.duration) || d < time.Second || d > maxOverride:
		return usageError{fmt.Errorf("--for is a duration between 1s and 24h, such as 15m or 1h30m, not %q", o.duration)}
	case o.wait && o.dryRun != dryRunNone:
		return usageError{errors.New("--wait and --dry-run exclude each other: leave one out")}
	}
	if _, err := o.print.ToPrinter(); err != nil {
		return usageError{err}
	}
	return nil
}

// errOneOverride is said where more than one object is named.
var errOneOverride = usageError{errors.New("an override is for one object: ask for each")}

func (c *clients) ask(ctx context.Context, o *askOptions) error {
	t, err := c.one(ctx, o.selection)
	if err != nil {
		return err
	}
	user, err := c.whoAmI(ctx)
	if err != nil {
		return err
	}
	want := newOverride(t, o, user.Username, rand.String(suffixLength))
	made, err := c.createOverride(ctx, o, want)
	if err != nil {
		c.Error(err)
		c.adviseOverride(ctx, err, want.Spec.Target)
		return errReported
	}
	if err := c.printAsked(o, made); err != nil || o.dryRun == dryRunClient {
		return err
	}
	if note := needless(c.enforcement(ctx)); note != "" {
		c.Notef("%s", note)
	}
	if o.dryRun != dryRunNone {
		return nil
	}
	return c.sayNext(ctx, o, made.GetName())
}

// needless says that nothing refuses deletions, so that nobody needs an override;
// "" where something does, or that is not known.
func needless(e enforcement) string {
	if e.Problem != "" {
		return ""
	}
	strongest := configv1alpha1.ModeOff
	for _, k := range allKeys() {
		switch mode := e.mode(policy.RuleDelete, k); {
		case mode == configv1alpha1.ModeEnforce:
			return ""
		case mode != configv1alpha1.ModeOff:
			strongest = mode
		}
	}
	if strongest == configv1alpha1.ModeOff {
		return "note: no policy of Holdfast is installed that refuses a delete: an override changes nothing now"
	}
	return "note: the deletion mode of Holdfast is " + string(strongest) + ", which refuses nothing: an override changes nothing now"
}

// newOverride is what is asked for.
func newOverride(t target, o *askOptions, user, suffix string) *v1alpha1.DeletionOverride {
	out := &v1alpha1.DeletionOverride{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: overridesKind.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: overrideName(t.kind.Kind, t.meta.Name, suffix)},
		Spec: v1alpha1.DeletionOverrideSpec{
			Reason:          o.reason,
			Duration:        o.duration,
			IncludeContents: o.includeContents,
			RequestedBy:     user,
		},
	}
	out.Spec.Target = v1alpha1.OverrideTarget{
		APIVersion: t.kind.GroupVersion().String(),
		Kind:       t.kind.Kind,
		Namespace:  t.meta.Namespace,
		Name:       t.meta.Name,
		UID:        string(t.meta.UID),
	}
	return out
}

// unfit are the characters that the name of an override may not have: names of
// RBAC objects may have nearly all.
var unfit = regexp.MustCompile(`[^a-z0-9]+`)

// overrideName is a name that people recognize, and no longer than a label value.
func overrideName(kindName, name, suffix string) string {
	readable := strings.Trim(unfit.ReplaceAllString(strings.ToLower(kindName+"-"+name), "-"), "-")
	if limit := nameLimit - len(suffix) - 1; len(readable) > limit {
		readable = strings.TrimRight(readable[:limit], "-")
	}
	return readable + "-" + suffix
}

func (c *clients) createOverride(ctx context.Context, o *askOptions, want *v1alpha1.DeletionOverride) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(content, "status")
	body := &unstructured.Unstructured{Object: content}
	if o.dryRun == dryRunClient {
		return body, nil
	}
	client, err := c.overrides()
	if err != nil {
		return nil, err
	}
	options := metav1.CreateOptions{FieldManager: fieldManager}
	if o.dryRun == dryRunServer {
		options.DryRun = []string{metav1.DryRunAll}
	}
	made, err := client.Create(ctx, body, options)
	if err != nil {
		return nil, ownKindError(overridesKind, err)
	}
	return made, nil
}

func (c *clients) printAsked(o *askOptions, made *unstructured.Unstructured) error {
	switch o.dryRun {
	case dryRunClient:
		_ = o.print.Complete("%s (dry run)")
	case dryRunServer:
		_ = o.print.Complete("%s (server dry run)")
	}
	printer, err := o.print.ToPrinter()
	if err != nil {
		return err
	}
	return printer.PrintObj(made, c.Out)
}

// sayNext says what happens next, once that is known. Where the output is for
// machines it goes to standard error.
func (c *clients) sayNext(ctx context.Context, o *askOptions, name string) error {
	say := func(text string) { c.Printf("%s\n", text) }
	if *o.print.OutputFormat != "" {
		say = func(text string) { c.Notef("%s", text) }
	}
	found, err := c.awaitPhase(ctx, name, answerTimeout, answered)
	if err != nil {
		return err
	}
	c.awaitStamp(ctx, found)
	say(overrideNext(found))
	if o.wait && !decided(found) {
		if found, err = c.awaitPhase(ctx, name, 0, decided); err != nil {
			return err
		}
		c.awaitStamp(ctx, found)
		say(overrideNext(found))
	}
	if o.wait && found.Status.Phase != v1alpha1.OverrideActive {
		return errReported
	}
	return nil
}
