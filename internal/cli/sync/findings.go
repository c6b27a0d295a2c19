// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/parse"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// report is what there is to say about a folder.
type report struct {
	metav1.TypeMeta `json:",inline"`
	// Files were read or, if Rendered, made.
	Files    int  `json:"files"`
	Rendered bool `json:"rendered"`
	// Objects is not known while something is wrong.
	Objects      *int          `json:"objects,omitempty"`
	Findings     []finding     `json:"findings"`
	UnknownKinds []unknownKind `json:"unknownKinds,omitempty"`
	// UndeclaredNamespaces are used, and not declared.
	UndeclaredNamespaces []string `json:"undeclaredNamespaces,omitempty"`
}

// finding is one thing that is wrong.
type finding struct {
	// Path is that of the file, if it is about one.
	Path string `json:"path,omitempty"`
	// Code is the number, as in the status of a RootSync.
	Code    string      `json:"code"`
	Message string      `json:"message"`
	Objects []ObjectRef `json:"objects,omitempty"`
}

// String is the finding in a line.
func (f finding) String() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// unknownKind is one of which nobody can tell without a cluster.
type unknownKind struct {
	Kind    string `json:"kind"`
	Objects int    `json:"objects"`
	// Path is that of the first file with one.
	Path string `json:"path"`
}

// String is the kind, and what to do.
func (k unknownKind) String() string {
	return fmt.Sprintf("%s: %s of kind %s, which is not built in: whether a cluster has it, and a namespace for them, tells --server, or its CustomResourceDefinition in the folder",
		k.Path, counted(k.Objects, "object"), k.Kind)
}

// look says what is wrong with what was read.
func (r *report) look(read parse.Result, sync object.Sync, server bool) {
	all := slices.Concat(read.Objects, read.Withheld)
	errs := read.Errors
	if !server {
		// That a kind is not known here says nothing of the cluster.
		errs = slices.DeleteFunc(slices.Clone(errs), func(e *knv.Error) bool { return e.Code == knv.UnknownKind })
		r.UnknownKinds = unknownKinds(read.Withheld)
	}
	if !read.Blocked {
		r.Objects = new(len(all))
		errs = slices.Concat(errs, dependencies(all), rootSyncs(all), unacceptable(all))
		if err := parse.Declares(all, sync); err != nil {
			errs = append(errs, err)
		}
		r.UndeclaredNamespaces = undeclared(all)
	}
	r.Findings = findingsOf(errs)
}

// dependencies are what is wrong with what objects say they depend on.
func dependencies(all []object.Declared) []*knv.Error {
	nodes := make([]plan.Node, 0, len(all))
	for _, d := range all {
		nodes = append(nodes, plan.NodeOf(d))
	}
	_, errs := plan.Build(nodes)
	return errs
}

// rootSyncs are what is wrong with the RootSyncs among the objects.
func rootSyncs(all []object.Declared) []*knv.Error {
	var errs []*knv.Error
	for _, d := range all {
		if d.ID().GroupKind() != (schema.GroupKind{Group: configsyncv1beta1.GroupName, Kind: "RootSync"}) {
			continue
		}
		rs := &configsyncv1beta1.RootSync{}
		err := decode(d.Object, rs)
		if err != nil {
			errs = append(errs, knv.New(knv.InvalidSync, "%v", err).About(knv.Declared(d)))
			continue
		}
		if _, err := spec.Read(rs); err != nil {
			errs = append(errs, err.About(knv.Declared(d)))
		}
	}
	return errs
}

// undeclared are the namespaces that objects are in and that are not declared, without
// those that every cluster has.
func undeclared(all []object.Declared) []string {
	out, known := map[string]bool{}, map[string]bool{metav1.NamespaceDefault: true, metav1.NamespaceSystem: true, metav1.NamespacePublic: true, object.SyncNamespace: true}
	for _, d := range all {
		if d.ID().IsNamespace() {
			known[d.Object.GetName()] = true
		} else if ns := d.Object.GetNamespace(); ns != "" {
			out[ns] = true
		}
	}
	var names []string
	for ns := range out {
		if !known[ns] {
			names = append(names, ns)
		}
	}
	slices.Sort(names)
	return names
}

func unknownKinds(withheld []object.Declared) []unknownKind {
	var out []unknownKind
	for _, d := range withheld {
		kind := d.ID().GroupKind().String()
		i := slices.IndexFunc(out, func(k unknownKind) bool { return k.Kind == kind })
		if i < 0 {
			out = append(out, unknownKind{Kind: kind, Path: d.Path})
			i = len(out) - 1
		}
		out[i].Objects++
		out[i].Path = min(out[i].Path, d.Path)
	}
	return out
}

// findingsOf are errors by the paths of their files.
func findingsOf(errs []*knv.Error) []finding {
	out := []finding{}
	for _, e := range knv.Sorted(errs) {
		out = append(out, findingOf(e))
	}
	slices.SortStableFunc(out, func(a, b finding) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

func findingOf(e *knv.Error) finding {
	f := finding{Code: string(e.Code), Message: firstLine(e.Error())}
	var about []string
	said := map[object.ID]bool{}
	for i, r := range e.Resources {
		if i == 0 {
			f.Path = r.Path
		}
		id := object.ID{Group: r.GVK.Group, Kind: r.GVK.Kind, Namespace: r.Namespace, Name: r.Name}
		text := ""
		if id.Name != "" && !said[id] {
			f.Objects = append(f.Objects, ObjectRef{id.Group, id.Kind, id.Namespace, id.Name})
			if said[id] = true; !names(f.Message, id) {
				text = idText(id)
			}
		}
		if r.Path != f.Path {
			text = strings.TrimSpace(text + " also in " + r.Path)
		}
		if text != "" && !slices.Contains(about, text) {
			about = append(about, text)
		}
	}
	if len(about) > 0 {
		f.Message += " [" + strings.Join(about, ", ") + "]"
	}
	return f
}

// namespacesNote says which namespaces somebody else has to make.
func (r *report) namespacesNote() string {
	if len(r.UndeclaredNamespaces) == 0 {
		return ""
	}
	return "used and not declared, so that they have to be there with namespace strategy explicit: " + strings.Join(r.UndeclaredNamespaces, ", ")
}

// summary has the numbers.
func (r *report) summary() string {
	text := counted(r.Files, "file")
	if r.Rendered {
		text = counted(r.Files, "rendered file")
	}
	if r.Objects != nil {
		text = counted(*r.Objects, "object") + " in " + text
	}
	found := "nothing is wrong"
	if n := len(r.Findings); n > 0 {
		found = counted(n, "error")
	}
	if n := len(r.UnknownKinds); n > 0 {
		found += ", " + counted(n, "unknown kind")
	}
	return text + ": " + found
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
