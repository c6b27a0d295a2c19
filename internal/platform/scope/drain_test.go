// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package scope_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

func TestFromDrainNamespaces(t *testing.T) {
	t.Parallel()
	const remedy = ` is not the name of a namespace: list exact names with commas between them, or "*" alone for all; ` +
		"patterns belong into the configuration file"
	tests := []struct {
		name    string
		value   string
		unset   bool
		want    configv1alpha1.Scope
		wantErr string
	}{
		{name: "unset is all", unset: true},
		{name: "unset is all whatever the value", value: "a", unset: true},
		{name: "empty is all"},
		{name: "blank is all", value: " \t"},
		{name: "a star is all", value: " * "},
		{name: "a comma alone is all", value: ","},
		{name: "only blank items are all", value: " , ,"},
		{name: "names are exact", value: "my-namespace,other-namespace", want: namespaces("my-namespace,other-namespace")},
		{name: "blanks around names are cut and blank items dropped", value: " my-namespace , ,other", want: namespaces("my-namespace,other")},
		{name: "a star beside names is refused", value: "*,foo", wantErr: `read STRIMZI_DRAIN_NAMESPACES: "*"` + remedy},
		{name: "a pattern is refused", value: "kafka-*", wantErr: `read STRIMZI_DRAIN_NAMESPACES: "kafka-*"` + remedy},
		{name: "an exclusion is refused", value: "a,!b", wantErr: `read STRIMZI_DRAIN_NAMESPACES: "!b"` + remedy},
		{name: "a name that cannot be is refused", value: "kafka,Kafka", wantErr: `read STRIMZI_DRAIN_NAMESPACES: "Kafka"` + remedy},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := scope.FromDrainNamespaces(test.value, !test.unset)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("scope (-want +got):\n%s", diff)
			}
			var message string
			if err != nil {
				message = err.Error()
			}
			if diff := cmp.Diff(test.wantErr, message); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}
