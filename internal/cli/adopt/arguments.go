// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/flags"
)

// arguments are what the arguments of HNC's manager come to.
type arguments struct {
	// Hierarchy is the configuration that keeps the same trees.
	Hierarchy configv1alpha1.HierarchyConfiguration
	// Notes are about arguments that mean something else here, or nothing.
	Notes []string
}

// quotasFlag turns on quotas of trees. Those that there are stop a hand-over; the
// flag alone is no reason to.
const quotasFlag = "enable-hrq"

// elsewhere are flags of HNC that Holdfast's own command line has, and that say
// nothing about trees.
var elsewhere = []string{"namespace", "kubeconfig", "health-probe-bind-address"}

// readArguments reads arguments as HNC does. What they do not say is what HNC takes
// then, and not Holdfast's default: nothing is excluded, and every label is copied.
func readArguments(args []string) (arguments, error) {
	var (
		given flags.Flags
		out   arguments
	)
	fs := pflag.NewFlagSet("hnc", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.ParseErrorsAllowlist.UnknownFlags = true
	given.AddTo(fs)
	args = twoDashes(args)
	for _, name := range flagNames(args) {
		if fs.Lookup(name) == nil && !slices.Contains(elsewhere, name) {
			out.Notes = append(out.Notes, "--"+name+" is not known here, and means nothing to Holdfast")
		}
	}
	if err := fs.Parse(args); err != nil {
		return arguments{}, fmt.Errorf("read the arguments of HNC: %w", err)
	}
	if fs.Changed(quotasFlag) && fs.Lookup(quotasFlag).Value.String() != "false" {
		out.Notes = append(out.Notes, "--"+quotasFlag+" means nothing: Holdfast does not enforce quotas of trees yet")
		if err := fs.Set(quotasFlag, "false"); err != nil {
			return arguments{}, err
		}
	}
	read, err := given.Read()
	if err != nil {
		return arguments{}, fmt.Errorf("read the arguments of HNC: %w", err)
	}
	c := &configv1alpha1.HoldfastConfiguration{}
	c.Hierarchy.ExcludedNamespaces, c.Hierarchy.UncopiedLabels = []string{}, []string{}
	for _, o := range read.Overrides {
		if err := o(c); err != nil {
			return arguments{}, err
		}
	}
	if c.Hierarchy.IncludedNamespaces == ".*" {
		c.Hierarchy.IncludedNamespaces = ""
	}
	out.Hierarchy, out.Notes = c.Hierarchy, append(out.Notes, read.Notes...)
	return out, nil
}

// twoDashes writes flags as they are written here: HNC takes one dash too.
func twoDashes(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && len(a) > 2 {
			out[i] = "-" + a
		}
	}
	return out
}

func flagNames(args []string) (out []string) {
	for _, a := range args {
		if rest, is := strings.CutPrefix(a, "--"); is && rest != "" {
			name, _, _ := strings.Cut(rest, "=")
			out = append(out, name)
		}
	}
	return out
}

// managerContainer is the name that HNC's manifests give it.
const managerContainer = "manager"

// manager is the container of HNC among those of its pods.
func manager(d *appsv1.Deployment) *corev1.Container {
	all := d.Spec.Template.Spec.Containers
	if i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == managerContainer }); i >= 0 {
		return &all[i]
	}
	if len(all) == 0 {
		return &corev1.Container{}
	}
	return &all[0]
}

// versionOf is the tag of an image; empty if it has none.
func versionOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = image[strings.LastIndexByte(image, '/')+1:]
	_, tag, _ := strings.Cut(image, ":")
	return tag
}
