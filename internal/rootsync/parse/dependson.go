// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// DependsOn reads the annotation "config.kubernetes.io/depends-on": a list with commas of
// "group/namespaces/namespace/Kind/name" and "group/Kind/name", where the core group is
// empty.
func DependsOn(value string) ([]object.ID, error) {
	var ids []object.ID
	for reference := range strings.SplitSeq(value, ",") {
		reference = strings.TrimSpace(reference)
		parts := strings.Split(reference, "/")
		var id object.ID
		switch {
		case len(parts) == 3:
			id = object.ID{Group: parts[0], Kind: parts[1], Name: parts[2]}
		case len(parts) == 5 && parts[1] == "namespaces":
			id = object.ID{Group: parts[0], Namespace: parts[2], Kind: parts[3], Name: parts[4]}
		}
		if id.Kind == "" || id.Name == "" || len(parts) == 5 && id.Namespace == "" {
			return nil, fmt.Errorf("%q is neither \"group/namespaces/namespace/Kind/name\" nor \"group/Kind/name\", where the core group is empty, as in \"/namespaces/shop/ConfigMap/prices\"", reference)
		}
		if slices.Contains(ids, id) {
			return nil, fmt.Errorf("%q is there twice", reference)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
