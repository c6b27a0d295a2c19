// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

func TestDefinitionsCondition(t *testing.T) {
	t.Parallel()
	names, err := definitionNames(crdGroups...)
	if err != nil || len(names) < 5 {
		t.Fatalf("the definitions are %q, %v", names, err)
	}
	const gone = "evictionpolicies.holdfast.dev"
	for _, tt := range []struct {
		name   string
		change func(*inventory.Kind) (served bool)
		want   metav1.ConditionStatus
	}{
		{"all are served", func(*inventory.Kind) bool { return true }, metav1.ConditionTrue},
		{"one is gone", func(*inventory.Kind) bool { return false }, metav1.ConditionFalse},
		{"of one no version is served", func(k *inventory.Kind) bool { k.Unserved = true; return true }, metav1.ConditionFalse},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var kinds []inventory.Kind
			for _, name := range names {
				r := schema.ParseGroupResource(name)
				k := inventory.Kind{Resource: r.WithVersion("v1alpha1"), Kind: r.Resource}
				if name != gone || tt.change(&k) {
					kinds = append(kinds, k)
				}
			}
			got := definitionsCondition(inventory.NewSnapshot(kinds), names)
			if got.Status != tt.want || strings.Contains(got.Message, gone) != (tt.want == metav1.ConditionFalse) {
				t.Errorf("got %s: %s", got.Status, got.Message)
			}
		})
	}
}

func TestConfigurationCondition(t *testing.T) {
	t.Parallel()
	refused, mistakes := errors.New("deletion.mode: no"), []string{"A is not valid", "B neither"}
	for _, tt := range []struct {
		name     string
		err      error
		mistakes []string
		empty    bool
		want     string
	}{
		{name: "nothing is wrong", want: "True Accepted: the newest configuration is in force"},
		{name: "nothing is configured", empty: true, want: "True Accepted: nothing is configured, so every default is in force"},
		{name: "the file is refused", err: refused, want: "False Refused: deletion.mode: no; the last good configuration stays in force"},
		{name: "variables are not valid", mistakes: mistakes, want: "False InvalidVariable: in the environment of the manager: A is not valid; B neither"},
		{name: "the file goes before the variables", err: refused, mistakes: mistakes, want: "False Refused: deletion.mode: no; the last good configuration stays in force"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := configurationCondition(tt.err, tt.mistakes, tt.empty)
			if got := string(c.Status) + " " + c.Reason + ": " + c.Message; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
