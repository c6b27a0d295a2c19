// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

// want is what one object wants of the account, in words: a key and its value, with @
// before that of an annotation; or a setting, with : before it.
func want(t testing.TB, text string) mapping.Want {
	t.Helper()
	w := mapping.Want{Mapping: "shops", Account: "front", Name: "acme-front", Enabled: true, Labels: map[string]string{}}
	w.Source = mapping.Source{
		GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Shop"},
		NamespacedName:   types.NamespacedName{Namespace: "team", Name: "shop-1"}, UID: "1", Created: noon,
	}
	owned := false
	var conflicts v1alpha1.AccountConflicts
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case ":owner":
			owned = true
		case ":object":
			w.Source.UID, w.Source.Name = types.UID(value), "shop-"+value
		case ":created":
			days, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			w.Source.Created = noon.Add(time.Duration(days) * 24 * time.Hour)
		case ":mapping":
			w.Mapping = value
		case ":disabled":
			w.Enabled = false
		case ":deleting":
			w.Source.Deleting = true
		case ":orphaning":
			w.Source.Deleting, w.Source.Orphaning = true, true
		case ":error":
			w.Err = errors.New(value)
		case ":takeOver":
			w.TakeOver = append(w.TakeOver, value)
		case ":conflicts":
			conflicts.Default = v1alpha1.ConflictPolicy(value)
		default:
			k := keyAt(key)
			if k.Field == Label {
				w.Labels[k.Name] = value
				continue
			}
			if w.Annotations == nil {
				w.Annotations = map[string]string{}
			}
			w.Annotations[k.Name] = value
		}
	}
	if owned {
		w.OwnerReference = &metav1.OwnerReference{
			APIVersion: "example.com/v1", Kind: "Shop", Name: w.Source.Name, UID: w.Source.UID, Controller: new(false), BlockOwnerDeletion: new(true),
		}
	}
	w.Conflicts = policies(t, conflicts)
	if !w.Enabled {
		w.Labels, w.Annotations = nil, nil
	}
	return w
}

func policies(t testing.TB, in v1alpha1.AccountConflicts) mapping.Conflicts {
	t.Helper()
	template := &v1alpha1.ServiceAccountTemplate{Spec: v1alpha1.ServiceAccountTemplateSpec{
		Source:   v1alpha1.TemplateSource{Group: "example.com", Kind: "Shop"},
		Accounts: []v1alpha1.AccountTemplate{{ID: "a", Name: "a", Conflicts: in}},
	}}
	m, problems := mapping.Compile(template)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetNamespace("team")
	return m.Wants(o)[0].Conflicts
}

// facts are about an account with the wants, one a line, and settings of the facts
// themselves.
func facts(t testing.TB, wants string, settings ...string) Facts {
	t.Helper()
	f := Facts{
		NamespacedName: types.NamespacedName{Namespace: "team", Name: "acme-front"}, Patching: true, Existing: configv1alpha1.ExistingApply,
		Operators: sets.New[string](), GivenUp: sets.New[Key](),
	}
	for line := range strings.Lines(wants) {
		if strings.TrimSpace(line) != "" {
			f.Wants = append(f.Wants, want(t, line))
		}
	}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		switch name {
		case "gate":
			f.Patching = value == "on"
		case "existing":
			f.Existing = configv1alpha1.ExistingAccounts(value)
		case "identities":
			f.Identities = configv1alpha1.AccountIdentities(value)
		case "operator":
			f.Operators.Insert(value)
		case "abandoned":
			f.Abandoned = true
		case "unsure":
			f.Unsure = true
		case "ending":
			f.Ending = true
		case "orphaned":
			f.Orphaned = true
		case "givenUp":
			f.GivenUp.Insert(keyAt(value))
		default:
			t.Fatalf("unknown setting %s", s)
		}
	}
	return f
}

// brief is a report in words.
func brief(r Report) string {
	var out []string
	for _, c := range r.Changes {
		line := fmt.Sprintf("%s %s", c.Kind, c.text())
		if c.Field == Other {
			line = fmt.Sprintf("%s .%s", c.Kind, c.Name)
		}
		if c.From == c.To {
			line += " " + c.From
		} else {
			line += fmt.Sprintf(" %s>%s", c.From, c.To)
		}
		var owners []string
		for _, o := range c.Owners {
			owners = append(owners, ownerText(metav1.ManagedFieldsEntry{Manager: o.Manager, Operation: o.Operation}))
		}
		if len(owners) > 0 {
			line += " of " + strings.Join(owners, ",")
		}
		if c.Identity != nil {
			line += " " + c.Identity.Provider
		}
		out = append(out, line)
	}
	if r.Problem != "" {
		out = append(out, string(r.Problem))
	}
	return strings.Join(out, "\n")
}

// sameLines compares texts line by line, however they are indented.
func sameLines(t *testing.T, what, want, got string) {
	t.Helper()
	trim := func(text string) (out []string) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, line)
			}
		}
		return out
	}
	if diff := cmp.Diff(trim(want), trim(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
