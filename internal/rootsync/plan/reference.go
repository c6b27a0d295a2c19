// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// The numbers of parts of "group/namespaces/namespace/Kind/name" and "group/Kind/name".
const (
	partsNamespaced = 5
	partsCluster    = 3
)

// References are the objects that the annotation "config.kubernetes.io/depends-on"
// names, each once.
func References(text string) ([]object.ID, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var out []object.ID
	for part := range strings.SplitSeq(text, ",") {
		id, err := reference(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

func reference(text string) (object.ID, error) {
	parts := strings.Split(text, "/")
	// The group alone may be empty: it is that of the core.
	named := !slices.Contains(parts[1:], "")
	switch {
	case len(parts) == partsCluster && named:
		return object.ID{Group: parts[0], Kind: parts[1], Name: parts[2]}, nil
	case len(parts) == partsNamespaced && named && parts[1] == "namespaces":
		return object.ID{Group: parts[0], Namespace: parts[2], Kind: parts[3], Name: parts[4]}, nil
	}
	return object.ID{}, fmt.Errorf("%q is neither group/namespaces/namespace/Kind/name nor group/Kind/name; the group of the core is empty, as in /Namespace/shop", text)
}

// Reference is how the annotation names an object.
func Reference(id object.ID) string {
	if id.Namespace == "" {
		return strings.Join([]string{id.Group, id.Kind, id.Name}, "/")
	}
	return strings.Join([]string{id.Group, "namespaces", id.Namespace, id.Kind, id.Name}, "/")
}

// key is how the reasons name an object for which another was skipped.
func key(id object.ID) string {
	return strings.Join([]string{id.Namespace, id.Name, id.Group, id.Kind}, "_")
}
