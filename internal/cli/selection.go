// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
)

// selection is what the command line says about which objects are meant.
type selection struct {
	args          []string
	selector      string
	all           bool
	allNamespaces bool
}

func (s *selection) addSelectorFlag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.selector, "selector", "l", "",
		"Label selector, with '=', '==', '!=', 'in', 'notin' (such as -l app=mysql,tier!=test)")
}

func (s *selection) addAllNamespacesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "Work on all namespaces")
}

// everyKind says whether the selector is to be looked for in all kinds at once.
func (s *selection) everyKind() bool { return len(s.args) == 0 }

// byName says whether objects are named one by one.
func (s *selection) byName() bool { return s.selector == "" && !s.all }

// validate refuses what cannot be meant before the API server is asked.
func (s *selection) validate() error {
	if err := s.validateSelector(); err != nil {
		return err
	}
	if s.byName() {
		return s.validateNames()
	}
	switch {
	case s.selector != "" && s.all:
		return usageError{errors.New("--all and --selector exclude each other: leave one out")}
	case s.all && len(s.args) == 0:
		return usageError{errors.New("--all needs a type: TYPE --all")}
	case len(s.args) > 1 || len(s.args) == 1 && strings.Contains(s.args[0], "/"):
		return usageError{errors.New("names and a selector exclude each other: give types alone, as in 'deployments,services -l app=mysql'")}
	}
	return nil
}

func (s *selection) validateSelector() error {
	if _, err := labels.Parse(s.selector); err != nil {
		return usageError{fmt.Errorf("the selector %q cannot be read: %w", s.selector, err)}
	}
	return nil
}

func (s *selection) validateNames() error {
	slashed := 0
	for _, arg := range s.args {
		if strings.Contains(arg, "/") {
			slashed++
		}
	}
	switch {
	case len(s.args) == 0:
		return usageError{errors.New("say which objects: TYPE NAME, TYPE/NAME or -l SELECTOR")}
	case s.allNamespaces:
		return usageError{errors.New("a name means one namespace: use -n, or -l with --all-namespaces")}
	case slashed == 0 && len(s.args) == 1:
		return usageError{fmt.Errorf("say which %s: TYPE NAME, or TYPE -l SELECTOR", s.args[0])}
	case slashed != 0 && slashed != len(s.args):
		return usageError{errors.New("TYPE NAME and TYPE/NAME do not go together: use one of them for all objects")}
	}
	return nil
}

// errNotOne is said where one object is to be named.
var errNotOne = usageError{errors.New("say one object: TYPE NAME or TYPE/NAME")}

// validateOne takes exactly one object, and says notOne of more.
func (s *selection) validateOne(notOne error) error {
	if err := s.validateNames(); err != nil {
		return err
	}
	names := len(s.args)
	if !strings.Contains(s.args[0], "/") {
		names--
	}
	if names > 1 {
		return notOne
	}
	return nil
}
