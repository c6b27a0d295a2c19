// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// World is what is known when a request comes.
type World struct {
	Tree    *tree.Tree
	Sources *propagate.Sources
	// Excluded says whether a name is in the list of excluded namespaces; nil says
	// that none is.
	Excluded func(name string) bool
}

func (w World) managed(name string) bool {
	s := w.Tree.Settings()
	return name == "" || s.Managed == nil || s.Managed(name)
}

func (w World) reserved(name string) bool {
	s := w.Tree.Settings()
	return s.Reserved != nil && s.Reserved(name)
}

// Operation is what is asked for.
type Operation string

// The operations.
const (
	Create Operation = "CREATE"
	Update Operation = "UPDATE"
	Delete Operation = "DELETE"
)

// Verdict is the answer to a request.
type Verdict struct {
	// Denied says no, if it is not nil.
	Denied *Denial
	// Authorize are namespaces in each of which the user must be allowed to update
	// HierarchyConfigurations; otherwise Unauthorized is the answer.
	Authorize []string
	// Confirm is a namespace that the tree does not know. If the API server does,
	// Unavailable is the answer.
	Confirm string
	// Deletes are namespaces that go if this passes. If the API server would refuse to
	// delete one of them, that is the answer: a deletion that cannot finish must not
	// begin.
	Deletes []string
}

// Denial says no.
type Denial struct {
	// Code of HTTP.
	Code   int32
	Reason metav1.StatusReason
	// Message for people.
	Message string
}

// The codes of HTTP; net/http is not for packages that do no I/O.
const (
	codeBadRequest   = 400
	codeUnauthorized = 401
	codeForbidden    = 403
	codeConflict     = 409
	codeInvalid      = 422
	codeUnavailable  = 503
)

var allowed = Verdict{}

func deny(code int32, reason metav1.StatusReason, format string, args ...any) Verdict {
	return Verdict{Denied: &Denial{code, reason, fmt.Sprintf(format, args...)}}
}

func forbidden(format string, args ...any) Verdict {
	return deny(codeForbidden, metav1.StatusReasonForbidden, format, args...)
}

func conflict(format string, args ...any) Verdict {
	return deny(codeConflict, metav1.StatusReasonConflict, format, args...)
}

func invalid(format string, args ...any) Verdict {
	return deny(codeInvalid, metav1.StatusReasonInvalid, format, args...)
}

func badRequest(format string, args ...any) Verdict {
	return deny(codeBadRequest, metav1.StatusReasonBadRequest, format, args...)
}

// Unavailable is the answer while a namespace is not known yet.
func Unavailable(namespace string) Verdict {
	return deny(codeUnavailable, metav1.StatusReasonServiceUnavailable, "the namespace %q is not known yet; try again", namespace)
}

// Stale is the answer to the deletion of what is not there, or is another object by now.
func Stale(name string) Verdict {
	return conflict("%q does not exist any more as it is in this request", name)
}

// Kept is the answer where a namespace that would go is protected; why is what the
// API server says.
func Kept(namespace, why string) Verdict {
	return forbidden(textKept, namespace, why)
}

// Unauthorized is the answer to a user who may not update HierarchyConfigurations
// in a namespace.
func Unauthorized(namespace string) Verdict {
	return deny(codeUnauthorized, metav1.StatusReasonUnauthorized, TextNoRight, namespace)
}
