// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package knv has the numbered errors that Config Sync reports in the status of a
// RootSync, in the form that its tools read.
package knv

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Code is the number of an error, without the letters.
type Code string

// The numbers that Holdfast reports, with their meaning in Config Sync.
const (
	IllegalSelector     Code = "1004" // a selector that is not allowed there, or not built
	IllegalManaged      Code = "1005" // a value of the managed annotation
	Parse               Code = "1006" // a file that is no YAML or JSON of objects
	IllegalAnnotation   Code = "1010" // an annotation of Config Sync's own in the source
	IllegalLabel        Code = "1011" // a label of Config Sync's own in the source
	UnknownKind         Code = "1021" // a kind that the API server does not serve; does not stop the others
	NameCollision       Code = "1029" // one object declared twice
	MissingName         Code = "1031" // no metadata.name
	IllegalNamespace    Code = "1034" // the namespace of the RootSyncs themselves
	InvalidName         Code = "1036" // a metadata.name that cannot be
	UnsupportedKind     Code = "1043" // a kind of Config Sync's own
	IllegalField        Code = "1045" // a field that the API server writes
	CRDInUse            Code = "1047" // a CRD that goes while its objects are declared
	InvalidCRDName      Code = "1048" // a CRD whose name does not follow from what it defines
	NamespaceOnCluster  Code = "1052" // a namespace on what is in none
	InvalidAnnotation   Code = "1054" // a value of an annotation
	InDisabledNamespace Code = "1056" // a managed object in a namespace that is declared as not managed
	ManagementConflict  Code = "1060" // another RootSync has the object
	InvalidSync         Code = "1061" // the RootSync itself is wrong
	Rendering           Code = "1068" // kustomize, where whoever wrote the source can mend it
	SelfReconcile       Code = "1069" // a source that declares the RootSync that syncs it
	BadPath             Code = "2001" // a path of the source
	APIServer           Code = "2002" // the API server
	Source              Code = "2004" // the source cannot be reached or read
	Fight               Code = "2005" // an object is written to and fro
	EmptySource         Code = "2006" // all namespaces would go at once
	Applier             Code = "2009" // an object cannot be applied, or cannot go
	InsufficientRights  Code = "2013" // what the RootSync acts as may not do it
	InternalRendering   Code = "2015" // kustomize, where Holdfast or its machine is at fault
	Internal            Code = "9998" // a defect of Holdfast
)

// Resource is an object that an error is about.
type Resource struct {
	// Path is that of its file; empty if it is in none.
	Path string
	// GVK is its kind; the version may be empty.
	GVK             schema.GroupVersionKind
	Namespace, Name string
}

// Declared is the Resource of a declared object.
func Declared(d object.Declared) Resource {
	return Resource{Path: d.Path, GVK: d.Object.GroupVersionKind(), Namespace: d.Object.GetNamespace(), Name: d.Object.GetName()}
}

// Error is one error of a RootSync.
type Error struct {
	Code Code
	// Text says what is wrong and what to do, without the number.
	Text      string
	Resources []Resource
	// Err is what caused it; may be nil. Its text is in Text.
	Err error
}

// New makes an error of a text in the form of fmt.Sprintf.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// About adds what the error is about.
func (e *Error) About(r ...Resource) *Error {
	e.Resources = append(e.Resources, r...)
	return e
}

// Because adds its cause, for errors.Is and errors.As.
func (e *Error) Because(err error) *Error {
	e.Err = err
	return e
}

// Error is the number and the text.
func (e *Error) Error() string { return "KNV" + string(e.Code) + ": " + e.Text }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Message is the text in the status of a RootSync: with what it is about, and the
// address of an explanation.
func (e *Error) Message() string {
	var b strings.Builder
	b.WriteString(e.Error())
	for _, r := range e.Resources {
		b.WriteString("\n\n" + r.block())
	}
	b.WriteString("\n\nFor more information, see https://g.co/cloud/acm-errors#knv" + string(e.Code))
	return b.String()
}

func (r Resource) block() string {
	lines := []struct{ name, value string }{
		{"source", r.Path},
		{"namespace", r.Namespace},
		{"metadata.name", r.Name},
		{"group", r.GVK.Group},
		{"version", r.GVK.Version},
		{"kind", r.GVK.Kind},
	}
	var b strings.Builder
	for _, l := range lines {
		// The core group is empty and named all the same, where there is a kind.
		if l.value != "" || l.name == "group" && r.GVK.Kind != "" {
			b.WriteString(strings.TrimSpace(l.name+": "+l.value) + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Sorted orders errors and what they are about, and takes out what is there twice, so
// that a status stays as it is while nothing changes.
func Sorted(list []*Error) []*Error {
	out := slices.Clone(list)
	for i, e := range out {
		c := *e
		c.Resources = slices.Clone(e.Resources)
		slices.SortFunc(c.Resources, compareResources)
		c.Resources = slices.Compact(c.Resources)
		out[i] = &c
	}
	slices.SortStableFunc(out, compareErrors)
	return slices.CompactFunc(out, func(a, b *Error) bool { return compareErrors(a, b) == 0 })
}

func compareErrors(a, b *Error) int {
	return cmp.Or(
		cmp.Compare(a.Code, b.Code), cmp.Compare(a.Text, b.Text),
		slices.CompareFunc(a.Resources, b.Resources, compareResources),
	)
}

func compareResources(a, b Resource) int {
	return cmp.Or(
		cmp.Compare(a.Path, b.Path), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.GVK.String(), b.GVK.String()),
	)
}
