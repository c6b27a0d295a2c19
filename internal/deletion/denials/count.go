// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package denials

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// failures is the annotation in which the API server lists the policies that a
// request violates, whatever their bindings make of it.
const failures = "validation.policy.admission.k8s.io/validation_failure"

// Sources are whose annotations say which protections refused a deletion.
type Sources struct {
	// Policies are names of ValidatingAdmissionPolicies.
	Policies []string
	// Webhook is the name of one, as users see it. It annotates refusals only.
	Webhook string
}

// Known returns what selection.Detail says of a protection, as it stands in a mark;
// false for a name that no protection has.
type Known func(name string) (detail string, ok bool)

// Refused says whether an event is the end of a deletion that a protection refused,
// and which of those that are known did. A dry run is a deletion like any other: an
// event does not always tell.
func (s Sources) Refused(e *auditv1.Event, known Known) (names []string, refused bool) {
	if e.Stage != auditv1.StageResponseComplete || e.Verb != "delete" && e.Verb != "deletecollection" ||
		e.ResponseStatus == nil || e.ResponseStatus.Code < 400 {
		return nil, false
	}
	add := func(source string) {
		refused = true
		for _, name := range protections(e.Annotations[source+"/"+policy.AuditProtection], known) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	// The annotation alone is also there when somebody may bypass the protection,
	// and when the mode refuses nothing.
	for _, name := range denying(e.Annotations[failures]) {
		if slices.Contains(s.Policies, name) {
			add(name)
		}
	}
	if _, ok := e.Annotations[s.Webhook+"/"+policy.AuditProtection]; ok {
		add(s.Webhook)
	}
	return names, refused
}

// denying are the policies that refused, each once.
func denying(text string) (names []string) {
	var list []struct {
		Policy            string   `json:"policy"`
		ValidationActions []string `json:"validationActions"`
	}
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	for _, f := range list {
		if slices.Contains(f.ValidationActions, "Deny") && !slices.Contains(names, f.Policy) {
			names = append(names, f.Policy)
		}
	}
	return names
}

// protections reads the value of an annotation: the name of the only protection,
// or how many they are and what selection.Detail says of them. That may hold commas,
// so what it says of each is left out as a whole, if that has not changed meanwhile.
func protections(value string, known Known) (names []string) {
	if _, ok := known(value); ok {
		return []string{value}
	}
	several, rest, _ := strings.Cut(value, ": ")
	n, err := strconv.Atoi(strings.TrimSuffix(several, v1alpha1.SeveralProtections))
	if err != nil {
		return nil
	}
	for rest != "" && len(names) < n {
		name := rest
		if i := strings.IndexAny(rest, " ,"); i >= 0 {
			name = rest[:i]
		}
		if detail, ok := known(name); ok && !slices.Contains(names, name) {
			names = append(names, name)
			rest = strings.TrimPrefix(rest, detail)
		}
		_, rest, _ = strings.Cut(rest, ", ")
	}
	return names
}

// add sums denials up.
func add(sum *v1alpha1.Denials, more v1alpha1.Denials) {
	sum.Count += more.Count
	if more.Last != nil && (sum.Last == nil || sum.Last.Before(more.Last)) {
		sum.Last = more.Last
	}
}
