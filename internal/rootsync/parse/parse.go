// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// File is a file of a source, or one that kustomize has made of it.
type File struct {
	// Path is relative to the root of the repository, with slashes.
	Path string
	Data []byte
}

// Scopes says of a kind whether its objects are in namespaces.
type Scopes interface {
	Namespaced(kind schema.GroupKind) (namespaced, known bool)
}

// Result is what the files of a commit declare.
type Result struct {
	// Objects is what is to be applied, ordered by ID; none if Blocked.
	Objects []object.Declared
	// Withheld is what is declared and cannot be applied, as nobody serves the kind. It
	// is not to be pruned: a kind may be gone for a moment only.
	Withheld []object.Declared
	// Refused is what is declared in a way that Holdfast does not know, ordered by ID: it is
	// left as it is, and the others are applied.
	Refused []object.Declared
	// Errors is everything that is wrong, in the order of knv.Sorted.
	Errors []*knv.Error
	// Blocked says that an error is such that nothing may be applied.
	Blocked bool
}

// Parse reads files.
func Parse(files []File, scopes Scopes) Result {
	objects, errs := read(sorted(files))
	objects, refused, refusals := refuse(objects)
	result := Result{}
	known := with(scopes, objects)
	for _, o := range objects {
		own := check(o)
		errs = append(errs, own...)
		placed, err := place(o, known)
		switch {
		case err == nil || len(own) > 0:
			result.Objects = append(result.Objects, placed)
		case err.Code == knv.UnknownKind:
			refusals = append(refusals, err)
			result.Withheld = append(result.Withheld, o)
		default:
			errs = append(errs, err)
		}
	}
	for _, o := range refused {
		if placed, err := place(o, known); err == nil {
			result.Refused = append(result.Refused, placed)
		} else {
			result.Withheld = append(result.Withheld, o)
		}
	}
	all := result.Declared()
	errs = append(errs, collisions(all)...)
	errs = append(errs, inDisabled(all)...)

	result.Blocked = len(errs) > 0
	result.Errors = knv.Sorted(append(errs, refusals...))
	if result.Blocked {
		result.Objects = nil
	}
	for _, list := range [][]object.Declared{result.Objects, result.Withheld, result.Refused} {
		slices.SortFunc(list, byID)
	}
	return result
}

// Declared is everything that is declared, whether it is applied or not.
func (r Result) Declared() []object.Declared {
	return slices.Concat(r.Objects, r.Withheld, r.Refused)
}

func byID(a, b object.Declared) int {
	return cmp.Or(a.ID().Compare(b.ID()), cmp.Compare(a.Path, b.Path))
}

// sorted is the files in an order that does not depend on whoever listed them. Kustomize
// may make two of one name.
func sorted(files []File) []File {
	out := slices.Clone(files)
	slices.SortFunc(out, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), bytes.Compare(a.Data, b.Data))
	})
	return out
}

// read makes objects of files: whatever is one, without those that are for tools only.
func read(files []File) (objects []object.Declared, errs []*knv.Error) {
	budget := maxTotal
	for _, f := range files {
		docs, err := documents(f.Data, &budget)
		if err != nil {
			errs = append(errs, knv.New(knv.Parse, "%s cannot be read: %v", f.Path, err).About(knv.Resource{Path: f.Path}).Because(err))
		}
		for _, doc := range docs {
			for _, item := range unroll(doc) {
				if err := shape(item, f.Path); err != nil {
					errs = append(errs, err)
				} else if o := tidy(item); !local(o) {
					objects = append(objects, object.Declared{Object: o, Path: f.Path})
				}
			}
		}
	}
	return objects, errs
}

// unroll makes the items of a List of it, and of Lists in a List. What has a name is an
// object, however its kind is called.
func unroll(doc map[string]any) []map[string]any {
	kind, _ := doc["kind"].(string)
	of, isList := strings.CutSuffix(kind, "List")
	items, hasItems := doc["items"].([]any)
	hasItems = hasItems || kind == "List" && doc["items"] == nil
	if name, _, _ := unstructured.NestedString(doc, "metadata", "name"); !isList || !hasItems || name != "" {
		return []map[string]any{doc}
	}
	var out []map[string]any
	for _, i := range items {
		item, isMap := i.(map[string]any)
		if !isMap {
			// The check of its shape says what it lacks.
			item = map[string]any{}
		}
		if of != "" {
			// The API server leaves out of the items of a typed list what the list says.
			inherit(item, "apiVersion", doc["apiVersion"])
			inherit(item, "kind", of)
		}
		out = append(out, unroll(item)...)
	}
	return out
}

func inherit(item map[string]any, key string, value any) {
	if _, has := item[key]; !has && value != nil {
		item[key] = value
	}
}

// tidy takes out what says nothing and would be owned all the same.
func tidy(doc map[string]any) *unstructured.Unstructured {
	if status, is := doc["status"].(map[string]any); doc["status"] == nil || is && len(status) == 0 {
		delete(doc, "status")
	}
	if meta, is := doc["metadata"].(map[string]any); is {
		for key, value := range meta {
			if value == nil {
				delete(meta, key)
			}
		}
	}
	if doc["apiVersion"] == "v1" && doc["kind"] == "Secret" {
		encode(doc)
	}
	return &unstructured.Unstructured{Object: doc}
}

// encode writes what a Secret has in stringData into data, as the API server does. It does not tell who owns fields of data
// that came by stringData: their drift would not show, and what is declared no longer would stay.
func encode(secret map[string]any) {
	text, is := secret["stringData"].(map[string]any)
	data, has := secret["data"].(map[string]any)
	if !is || !has && secret["data"] != nil {
		return // the API server says what is wrong
	}
	encoded := maps.Clone(data)
	if encoded == nil {
		encoded = map[string]any{}
	}
	for key, value := range text {
		s, is := value.(string)
		if !is {
			return
		}
		encoded[key] = base64.StdEncoding.EncodeToString([]byte(s))
	}
	secret["data"] = encoded
	delete(secret, "stringData")
}

// local says whether an object is for tools and not for a cluster.
func local(o *unstructured.Unstructured) bool {
	if o.GroupVersionKind().GroupKind() == (schema.GroupKind{Group: "kpt.dev", Kind: "Kptfile"}) {
		return true
	}
	value, has := o.GetAnnotations()[object.AnnotationLocalConfig]
	return has && value != "false"
}
