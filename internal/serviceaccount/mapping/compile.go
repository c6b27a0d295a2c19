// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
	"github.com/holdfast-dev/holdfast/internal/platform/pattern"
)

// Mapping is a compiled ServiceAccountTemplate. It does not change once made and is
// safe for concurrent use.
type Mapping struct {
	// Name is that of the ServiceAccountTemplate.
	Name string
	// Source is the kind of the objects, and Version the one in which they are to be
	// read; empty for the one that the API server prefers.
	Source  schema.GroupKind
	Version string

	accounts []account
}

// account is a compiled AccountTemplate.
type account struct {
	id        string
	name      text
	template  []string
	enabled   *cel.Condition
	labels    []label
	inherits  bool
	excluded  *pattern.Pattern
	forbidden *pattern.Pattern
	refusal   string
	owner     *v1alpha1.AccountOwnerReference
	conflicts Conflicts
	takeOver  []string
}

// label is one that an account has by itself.
type label struct {
	key   string
	value text
}

// Compile makes a Mapping. The errors have field paths; the API server has not found
// them, because a schema cannot.
func Compile(in *v1alpha1.ServiceAccountTemplate) (*Mapping, field.ErrorList) {
	spec := in.Spec.DeepCopy()
	path := field.NewPath("spec")
	out := &Mapping{
		Name: in.Name, Version: spec.Source.Version,
		Source: schema.GroupKind{Group: spec.Source.Group, Kind: spec.Source.Kind},
	}
	var problems field.ErrorList
	for _, required := range []struct{ name, value string }{{"group", spec.Source.Group}, {"kind", spec.Source.Kind}} {
		if required.value == "" {
			problems = append(problems, field.Required(path.Child("source", required.name), "say which kind the accounts belong to"))
		}
	}
	if len(spec.Accounts) == 0 {
		problems = append(problems, field.Required(path.Child("accounts"), "say which accounts the objects have"))
	}
	for i := range spec.Accounts {
		compiled, errs := compileAccount(&spec.Accounts[i], path.Child("accounts").Index(i))
		if slices.ContainsFunc(out.accounts, func(a account) bool { return a.id == compiled.id }) {
			errs = append(errs, field.Duplicate(path.Child("accounts").Index(i).Child("id"), compiled.id))
		}
		out.accounts = append(out.accounts, compiled)
		problems = append(problems, errs...)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return out, nil
}

// compiler gathers what is wrong with an account.
type compiler struct {
	path     *field.Path
	problems field.ErrorList
}

func (c *compiler) check(value string, err error, at ...string) {
	if err != nil {
		c.problems = append(c.problems, field.Invalid(c.path.Child(at[0], at[1:]...), value, err.Error()))
	}
}

func compileAccount(in *v1alpha1.AccountTemplate, path *field.Path) (account, field.ErrorList) {
	c := &compiler{path: path}
	out := account{
		id: in.ID, owner: in.OwnerReference, takeOver: in.TakeOver,
		conflicts: Conflicts{in.Conflicts},
	}
	if in.Name == "" {
		c.problems = append(c.problems, field.Required(path.Child("name"), "an account needs a name"))
	}
	var err error
	out.name, err = compileText(in.Name)
	c.check(in.Name, err, "name")
	out.template = c.steps(in.Template)
	if in.Enabled != "" {
		out.enabled, err = compileCondition(in.Enabled)
		c.check(in.Enabled, err, "enabled")
	}
	out.labels = c.labels(in.Labels)
	c.patterns(in, &out)
	return out, c.problems
}

func compileCondition(in string) (*cel.Condition, error) {
	env, err := celEnvironment()
	if err != nil {
		return nil, err
	}
	return env.Condition(in)
}

// steps are the names in a path such as .spec.template.
func (c *compiler) steps(path string) []string {
	if path == "" {
		return nil
	}
	rest, found := strings.CutPrefix(path, ".")
	steps := strings.Split(rest, ".")
	bad := func(step string) bool { return step == "" || strings.ContainsAny(step, "[]*'\"\\ ") }
	if !found || slices.ContainsFunc(steps, bad) {
		c.problems = append(c.problems, field.Invalid(c.path.Child("template"), path,
			"must be names with a dot before each, such as .spec.template.serviceAccount; there is no notation for lists"))
		return nil
	}
	return steps
}

func (c *compiler) labels(in map[string]v1alpha1.TextTemplate) []label {
	out := make([]label, 0, len(in))
	for _, key := range slices.Sorted(maps.Keys(in)) {
		at := c.path.Child("labels").Key(key)
		for _, mistake := range utilvalidation.IsQualifiedName(key) {
			c.problems = append(c.problems, field.Invalid(at, key, mistake))
		}
		if isMark(key) {
			c.problems = append(c.problems, field.Forbidden(at, reservedMessage(key)))
		}
		value, err := compileText(string(in[key]))
		if err != nil {
			c.problems = append(c.problems, field.Invalid(at, string(in[key]), err.Error()))
		}
		out = append(out, label{key, value})
	}
	return out
}

func (c *compiler) patterns(in *v1alpha1.AccountTemplate, out *account) {
	var err error
	if inherit := in.InheritLabels; inherit != nil {
		out.inherits = true
		if inherit.Exclude != "" {
			out.excluded, err = pattern.Compile(inherit.Exclude)
			c.check(inherit.Exclude, err, "inheritLabels", "exclude")
		}
	}
	if forbidden := in.ForbiddenLabels; forbidden != nil {
		out.forbidden, err = pattern.Compile(forbidden.Pattern)
		out.refusal = forbidden.Message
		c.check(forbidden.Pattern, err, "forbiddenLabels", "pattern")
	}
}
