// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"
)

const whyChangeHelp = `

The verdict is the API server's: it is asked by a dry run, for you or for whom --as names,
and so are RBAC, all policies and all webhooks. What is said of it is read from the answer
and from the cluster: which policy, webhook or right refuses, whether that is Holdfast's,
whose the object and its namespace are, what becomes of the change where somebody else
keeps the object, and what to do. Nothing is changed.

The exit code is 0 if it would be allowed and 3 if it would be refused; with several
objects, one is enough.

-o json and -o yaml give a ChangeExplanationList: for each item the verb, the object,
allowed, the user, refusal (by, name, binding, feature, code, reason, message, right,
because), warnings, owner, place, and texts: notes and nextSteps.`

// whyChangeOptions are what the command lines of why update and why create say.
type whyChangeOptions struct {
	selection
	verb      string
	files     []string
	patch     string
	patchType string
	force     bool
	output    string
}

var patchTypes = map[string]types.PatchType{
	"merge": types.MergePatchType, "strategic": types.StrategicMergePatchType, "json": types.JSONPatchType,
}

func newWhyUpdateCommand(c *clients, runF func(*whyChangeOptions) error) *cobra.Command {
	o := &whyChangeOptions{verb: verbUpdate}
	cmd := &cobra.Command{
		Use:   "update (TYPE NAME | TYPE/NAME | -f FILE)",
		Short: "Explain whether a change of an object would be allowed, and what becomes of it",
		Long: `Explain whether a change of an object would be allowed, and what becomes of it. What is
changed is said by --patch, or by -f, whose objects are applied as "kubectl apply
--server-side" does. Without either, an annotation is set.` + whyChangeHelp,
		Example: `  # Why can nobody edit this Role?
  kubectl holdfast why update role view -n shop-test

  # May the label go?
  kubectl holdfast why update cm books -n shop --patch '{"metadata":{"labels":{"holdfast.dev/deletion-protected":null}}}'

  # Could a robot apply this?
  kubectl holdfast why update -f shop.yaml --as system:serviceaccount:ci:deployer`,
		ValidArgsFunction: c.completeObjects,
		RunE:              c.runWhyChange(o, runF),
	}
	o.addFlags(cmd)
	cmd.Flags().StringVarP(&o.patch, "patch", "p", "", "The change, in JSON or YAML")
	cmd.Flags().StringVar(&o.patchType, "type", "merge", "How the patch is read: merge, strategic or json")
	cmd.Flags().BoolVar(&o.force, "force-conflicts", false, "Take fields over that other field managers own, with -f")
	completeFlag(cmd, "type", "json", "merge", "strategic")
	return cmd
}

func newWhyCreateCommand(c *clients, runF func(*whyChangeOptions) error) *cobra.Command {
	o := &whyChangeOptions{verb: verbCreate}
	cmd := &cobra.Command{
		Use:   "create -f FILE",
		Short: "Explain whether objects could be created, and whose they would be",
		Long:  `Explain whether the objects of a file could be created, and whose their namespace is.` + whyChangeHelp,
		Example: `  # Why can this not be made in the tree?
  kubectl holdfast why create -f role.yaml

  # Could this namespace be made?
  kubectl create namespace shop --dry-run=client -o yaml | kubectl holdfast why create -f -`,
		RunE: c.runWhyChange(o, runF),
	}
	o.addFlags(cmd)
	return cmd
}

func (o *whyChangeOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVarP(&o.files, "filename", "f", nil, "Files of objects, or - for standard input")
	addOutputFlag(cmd, &o.output, whyFormats)
}

func (c *clients) runWhyChange(o *whyChangeOptions, runF func(*whyChangeOptions) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		o.args = args
		if err := o.validate(); err != nil {
			return err
		}
		return orTest(c.whyChange, runF)(cmd.Context(), o)
	}
}

func (o *whyChangeOptions) validate() error {
	if err := validateOutput(o.output, whyFormats); err != nil {
		return err
	}
	if o.verb == verbCreate {
		if len(o.files) == 0 || len(o.args) > 0 {
			return usageError{errors.New("say what is to be created: -f FILE")}
		}
		return nil
	}
	_, known := patchTypes[o.patchType]
	switch {
	case !known:
		return usageError{fmt.Errorf("--type is merge, strategic or json, and not %q", o.patchType)}
	case len(o.files) > 0 && (len(o.args) > 0 || o.patch != ""):
		return usageError{errors.New("-f says what is changed, and how: leave the rest out")}
	case len(o.files) > 0:
		return nil
	case o.force:
		return usageError{errors.New("--force-conflicts goes with -f")}
	}
	if _, err := yaml.YAMLToJSON([]byte(o.patch)); err != nil {
		return usageError{fmt.Errorf("the patch cannot be read: %w", err)}
	}
	return o.validateNames()
}

const (
	verbCreate = "create"
	verbUpdate = "update"
)

// attempt is a request that would write an object.
type attempt struct {
	verb   string
	target target
	// object is the whole object of a file; nil for a patch.
	object *unstructured.Unstructured
	patch  []byte
	how    types.PatchType
	force  bool
}

// harmless is a change that nobody has anything against, but for whoever lets nothing be
// changed at all.
const harmless = `{"metadata":{"annotations":{"cli.holdfast.dev/why":"update"}}}`

func (c *clients) whyChange(ctx context.Context, o *whyChangeOptions) error {
	changes, problems := c.attempts(ctx, o)
	var explanations []changeExplanation
	if len(changes) > 0 {
		user, err := c.whoAmI(ctx)
		if err != nil {
			return err
		}
		for _, ch := range changes {
			f, err := c.changeFacts(ctx, ch)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			f.user = user
			explanations = append(explanations, explainChange(f))
		}
	}
	if err := c.printChangeExplanations(o.output, explanations); err != nil {
		return err
	}
	for _, err := range problems {
		c.Error(err)
	}
	if len(problems) > 0 {
		return errReported
	}
	for _, x := range explanations {
		if !x.Allowed {
			return errRefused
		}
	}
	return nil
}

// attempts are the requests that the command line is about.
func (c *clients) attempts(ctx context.Context, o *whyChangeOptions) ([]attempt, []error) {
	if len(o.files) > 0 {
		return c.attemptsOfFiles(o)
	}
	patch, how := []byte(harmless), types.MergePatchType
	if o.patch != "" {
		body, err := yaml.YAMLToJSON([]byte(o.patch))
		if err != nil {
			return nil, []error{fmt.Errorf("read the patch: %w", err)}
		}
		patch, how = body, patchTypes[o.patchType]
	}
	targets, problems := c.named(ctx, o.selection)
	var out []attempt
	for _, t := range targets {
		out = append(out, attempt{verb: verbUpdate, target: t, patch: patch, how: how})
	}
	return out, problems
}

func (c *clients) attemptsOfFiles(o *whyChangeOptions) ([]attempt, []error) {
	b, err := c.builder(selection{})
	if err != nil {
		return nil, []error{err}
	}
	infos, err := b.FilenameParam(false, &resource.FilenameOptions{Filenames: o.files}).Flatten().Do().Infos()
	if err != nil {
		return nil, flatten(reachable(err))
	}
	var out []attempt
	for _, info := range infos {
		u, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		if info.Namespaced() && u.GetNamespace() == "" {
			u.SetNamespace(info.Namespace)
		}
		meta := &metav1.PartialObjectMetadata{}
		meta.Namespace, meta.Name, meta.Labels, meta.Annotations = u.GetNamespace(), u.GetName(), u.GetLabels(), u.GetAnnotations()
		if meta.Name == "" {
			meta.Name = u.GetGenerateName()
		}
		out = append(out, attempt{verb: o.verb, target: newTarget(kindOf(info.Mapping), meta), object: u, force: o.force})
	}
	if len(out) == 0 {
		return nil, []error{fmt.Errorf("there is no object in %s", strings.Join(o.files, ", "))}
	}
	return out, nil
}
