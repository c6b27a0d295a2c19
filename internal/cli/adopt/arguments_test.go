// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

func TestReadArguments(t *testing.T) {
	t.Parallel()
	none := []string{}
	tests := []struct {
		name, args string
		want       configv1alpha1.HierarchyConfiguration
		notes      []string
		err        string
	}{
		{
			name: "none: nothing is excluded, as in HNC", args: "",
			want: configv1alpha1.HierarchyConfiguration{ExcludedNamespaces: none, UncopiedLabels: none},
		},
		{
			name: "those of HNC's manifest",
			args: "--webhook-server-port=9443 --metrics-addr=:8080 --max-reconciles=10 --apiserver-qps-throttle=50 --enable-internal-cert-management " +
				"--cert-restart-on-secret-refresh --excluded-namespace=kube-system --excluded-namespace=kube-public --excluded-namespace=hnc-system " +
				"--excluded-namespace=kube-node-lease --nopropagation-label=cattle.io/creator=norman",
			want: configv1alpha1.HierarchyConfiguration{
				ExcludedNamespaces: []string{"kube-system", "kube-public", "hnc-system", "kube-node-lease"}, UncopiedLabels: []string{"cattle.io/creator=norman"},
			},
			notes: []string{"--apiserver-qps-throttle has no effect", "--cert-restart-on-secret-refresh has no effect", "--max-reconciles has no effect", "--metrics-addr has no effect", "--webhook-server-port has no effect"},
		},
		{
			name: "all that mean something",
			args: "--excluded-namespace a --included-namespace-regex team-.* --managed-namespace-label=team/.* --managed-namespace-annotation=note/.* " +
				"--unpropagated-annotation=x/y --unpropagated-label=argocd.argoproj.io/instance --nopropagation-label=a=b --nopropagation-label=a=c",
			want: configv1alpha1.HierarchyConfiguration{
				ExcludedNamespaces: []string{"a"}, IncludedNamespaces: "team-.*", ManagedLabels: []string{"team/.*"}, ManagedAnnotations: []string{"note/.*"},
				StrippedAnnotations: []string{"x/y"}, StrippedLabels: []string{"argocd.argoproj.io/instance"}, UncopiedLabels: []string{"a=b", "a=c"},
			},
		},
		{
			name: "one dash is enough for HNC", args: "-excluded-namespace=a -excluded-namespace b",
			want: configv1alpha1.HierarchyConfiguration{ExcludedNamespaces: []string{"a", "b"}, UncopiedLabels: none},
		},
		{
			name: "all names is no expression", args: "--included-namespace-regex=.*",
			want: configv1alpha1.HierarchyConfiguration{ExcludedNamespaces: none, UncopiedLabels: none},
		},
		{
			name: "alternatives are read as HNC reads them", args: "--included-namespace-regex=a|b",
			want:  configv1alpha1.HierarchyConfiguration{ExcludedNamespaces: none, UncopiedLabels: none, IncludedNamespaces: ".*(?:^a|b$).*"},
			notes: []string{"--included-namespace-regex=a|b is read as HNC reads it"},
		},
		{
			name: "quotas that nobody has stop nothing", args: "--enable-hrq --namespace=hnc-system",
			want:  configv1alpha1.HierarchyConfiguration{ExcludedNamespaces: none, UncopiedLabels: none},
			notes: []string{"--enable-hrq means nothing"},
		},
		{
			name: "flags of a fork", args: "--something=1 --excluded-namespace=a",
			want:  configv1alpha1.HierarchyConfiguration{ExcludedNamespaces: []string{"a"}, UncopiedLabels: none},
			notes: []string{"--something is not known here"},
		},
		{name: "a value that cannot be read", args: "--managed-namespace-label=(", err: "read the arguments of HNC: --managed-namespace-label:"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := readArguments(strings.Fields(tt.args))
			if tt.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Hierarchy); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if len(got.Notes) != len(tt.notes) {
				t.Fatalf("got the notes %q, want %q", got.Notes, tt.notes)
			}
			for i, want := range tt.notes {
				if !strings.HasPrefix(got.Notes[i], want) {
					t.Errorf("got the note %q, want %q", got.Notes[i], want)
				}
			}
		})
	}
}

func TestVersionOf(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]string{
		"gcr.io/k8s-staging-multitenancy/hnc-manager:v1.1.0": "v1.1.0",
		"registry:5000/hnc-manager":                          "",
		"registry:5000/hnc-manager:v1.0.0@sha256:0123":       "v1.0.0",
		"": "",
	} {
		if got := versionOf(image); got != want {
			t.Errorf("%s: got %q, want %q", image, got, want)
		}
	}
}
