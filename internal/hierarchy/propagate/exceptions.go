// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package propagate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// exceptionKeys are the annotations that make an exception, in the order in which
// they are looked at.
var exceptionKeys = []string{
	hncv1alpha2.AnnotationSelect, hncv1alpha2.AnnotationTreeSelect, hncv1alpha2.AnnotationNone, hncv1alpha2.AnnotationAll,
}

// Exceptions are what the annotations of a source say about its copies. The zero
// value says nothing.
type Exceptions struct {
	selector  labels.Selector
	tree      []subtree
	none, all bool
}

// subtree is a part of a treeSelect.
type subtree struct {
	label string
	in    bool
}

// ParseExceptions reads the annotations of a source. An empty annotation is as
// good as none. The error names the first that cannot be read, in the order
// select, treeSelect, none, all.
func ParseExceptions(annotations map[string]string) (Exceptions, error) {
	var e Exceptions
	var err error
	for _, key := range exceptionKeys {
		value := annotations[key]
		if value == "" {
			continue
		}
		switch key {
		case hncv1alpha2.AnnotationSelect:
			// HNC refuses != < and >, and of a=b,a=c it takes the last; here they mean
			// what they mean everywhere.
			e.selector, err = labels.Parse(value)
		case hncv1alpha2.AnnotationTreeSelect:
			e.tree, err = parseTreeSelect(value)
		case hncv1alpha2.AnnotationNone:
			e.none, err = strconv.ParseBool(value)
		case hncv1alpha2.AnnotationAll:
			e.all, err = strconv.ParseBool(value)
		}
		if err != nil {
			return Exceptions{}, fmt.Errorf("annotation %s %q: %w", key, value, err)
		}
	}
	return e, nil
}

func parseTreeSelect(text string) ([]subtree, error) {
	var out []subtree
	var in []string
	for segment := range strings.SplitSeq(text, ",") {
		segment = strings.TrimSpace(segment)
		name, negated := strings.CutPrefix(segment, "!")
		if name == "" {
			return nil, errors.New("a namespace is missing between the commas")
		}
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return nil, fmt.Errorf("%q is no name of a namespace: %s", name, strings.Join(problems, "; "))
		}
		out = append(out, subtree{name + hncv1alpha2.LabelTreeDepthSuffix, !negated})
		if !negated {
			in = append(in, name)
		}
	}
	if len(in) > 1 {
		return nil, fmt.Errorf("only one namespace can stand without a \"!\", not %s", strings.Join(in, ", "))
	}
	return out, nil
}

// asks says whether a kind that is copied on demand is to be copied.
func (e Exceptions) asks() bool { return e.selector != nil || e.tree != nil || e.all }

// allow says whether a namespace with these labels gets a copy.
func (e Exceptions) allow(namespace map[string]string) bool {
	if e.selector != nil && !e.selector.Matches(labels.Set(namespace)) {
		return false
	}
	for _, s := range e.tree {
		if _, below := namespace[s.label]; below != s.in {
			return false
		}
	}
	return !e.none
}
