// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package flags_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/flags"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
)

// given reads a command line.
func given(t testing.TB, args ...string) (flags.Given, error) {
	t.Helper()
	var f flags.Flags
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.AddTo(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f.Read()
}

func TestRead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, args string
		// file is what the configuration says below hierarchy.
		file string
		// want changes the defaults to what is in force.
		want func(*configv1alpha1.HierarchyConfiguration)
	}{
		{name: "no flags leave the defaults", want: func(*configv1alpha1.HierarchyConfiguration) {}},
		{name: "no flags leave the file", file: "{excludedNamespaces: [a]}", want: func(h *configv1alpha1.HierarchyConfiguration) { h.ExcludedNamespaces = []string{"a"} }},
		{
			name: "those of HNC's manifest are the defaults",
			args: "--excluded-namespace=kube-system --excluded-namespace=kube-public --excluded-namespace=kube-node-lease --excluded-namespace=hnc-system --nopropagation-label=cattle.io/creator=norman",
			want: func(*configv1alpha1.HierarchyConfiguration) {},
		},
		{
			name: "a list takes the place of the file's", file: "{excludedNamespaces: [a, b], uncopiedLabels: [a=b]}",
			args: "--excluded-namespace c --excluded-namespace=d --nopropagation-label=x=1 --nopropagation-label=x=2 --nopropagation-label=y=",
			want: func(h *configv1alpha1.HierarchyConfiguration) {
				h.ExcludedNamespaces, h.UncopiedLabels = []string{"c", "d"}, []string{"x=1", "x=2", "y="}
			},
		},
		{
			name: "the rest of the file stays", file: "{mode: Audit, standBy: true, managedLabels: [a]}", args: "--excluded-namespace=c",
			want: func(h *configv1alpha1.HierarchyConfiguration) {
				h.Mode, h.StandBy, h.ManagedLabels, h.ExcludedNamespaces = configv1alpha1.ModeAudit, true, []string{"a"}, []string{"c"}
			},
		},
		{
			name: "keys that copies do not have", args: "--unpropagated-annotation=example.com/a --unpropagated-annotation=b --unpropagated-label=argocd.argoproj.io/instance",
			want: func(h *configv1alpha1.HierarchyConfiguration) {
				h.StrippedAnnotations, h.StrippedLabels = []string{"example.com/a", "b"}, []string{"argocd.argoproj.io/instance"}
			},
		},
		{
			name: "keys for whole subtrees, with commas in them", args: `--managed-namespace-label=team\.example\.com/.{1,9} --managed-namespace-annotation=cost-.*`,
			want: func(h *configv1alpha1.HierarchyConfiguration) {
				h.ManagedLabels, h.ManagedAnnotations = []string{`team\.example\.com/.{1,9}`}, []string{"cost-.*"}
			},
		},
		{name: "an expression for names, of two the last", args: "--included-namespace-regex=a --included-namespace-regex=team-.*", want: func(h *configv1alpha1.HierarchyConfiguration) { h.IncludedNamespaces = "team-.*" }},
		{name: "as in HNC the empty expression is for all", file: "{includedNamespaces: team-.*}", args: "--included-namespace-regex=", want: func(*configv1alpha1.HierarchyConfiguration) {}},
		{
			name: "alternatives are anchored as HNC anchors them", args: "--included-namespace-regex=team-.*|shared --managed-namespace-label=a|b",
			want: func(h *configv1alpha1.HierarchyConfiguration) {
				h.IncludedNamespaces, h.ManagedLabels = ".*(?:^team-.*|shared$).*", []string{".*(?:^a|b$).*"}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, err := given(t, strings.Fields(tt.args)...)
			if err != nil {
				t.Fatal(err)
			}
			loader := config.Loader{Overrides: g.Overrides, Validators: []config.Validator{settings.Validate}}
			file := []byte(config.Empty)
			if tt.file != "" {
				file = []byte(config.Empty + "hierarchy: " + tt.file)
			}
			want := &configv1alpha1.HoldfastConfiguration{}
			tt.want(&want.Hierarchy)
			configv1alpha1.SetDefaults(want)
			for range 2 { // at start and when the file changes
				c, err := loader.Load(file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want.Hierarchy, c.Hierarchy); diff != "" {
					t.Errorf("in force (-want +got):\n%s", diff)
				}
				c.Hierarchy.ExcludedNamespaces[0] = "changed"
			}
		})
	}
}

func TestRead_whatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, arg string
		want      []string
	}{
		{name: "a name that no namespace has", arg: "--excluded-namespace=Kube", want: []string{`--excluded-namespace: Invalid value: "Kube"`}},
		{name: "names in one argument", arg: "--excluded-namespace=kube-system,kube-public", want: []string{"--excluded-namespace"}},
		{name: "no name", arg: "--excluded-namespace=", want: []string{"--excluded-namespace"}},
		{name: "a pattern, which HNC never had", arg: "--excluded-namespace=kube-*", want: []string{"--excluded-namespace"}},
		{name: "an expression that is none", arg: "--included-namespace-regex=(", want: []string{"--included-namespace-regex", "missing closing )"}},
		{name: "a key that is none", arg: "--unpropagated-label=a b", want: []string{"--unpropagated-label"}},
		{name: "an annotation whose key is none", arg: "--unpropagated-annotation=a/b/c", want: []string{"--unpropagated-annotation"}},
		{name: "a label without a value", arg: "--nopropagation-label=a", want: []string{"--nopropagation-label", "key=value"}},
		{name: "labels that HNC manages itself", arg: "--managed-namespace-label=.*", want: []string{"--managed-namespace-label", "hnc.x-k8s.io"}},
		{name: "an expression for annotations that is none", arg: "--managed-namespace-annotation=[", want: []string{"--managed-namespace-annotation"}},
		{name: "quotas", arg: "--enable-hrq", want: []string{"--enable-hrq", "does not enforce HierarchicalResourceQuotas yet", "stay with HNC"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, err := given(t, tt.arg)
			if err == nil {
				t.Fatalf("got %v, want an error", g)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want it with %q", err, want)
				}
			}
		})
	}
	_, err := given(t, "--excluded-namespace=A", "--unpropagated-label=b c")
	if err == nil || !strings.Contains(err.Error(), "--excluded-namespace") || !strings.Contains(err.Error(), "--unpropagated-label") {
		t.Errorf("got %v, want all that is wrong at once", err)
	}
}

func TestRead_flagsWithoutAMeaningAreTaken(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, args string
		// notes begin with these flags, in this order.
		notes string
	}{
		{
			name:  "the arguments of HNC 1.1 as it is installed",
			args:  "--webhook-server-port=9443 --metrics-addr=:8080 --max-reconciles=10 --apiserver-qps-throttle=50 --enable-internal-cert-management --cert-restart-on-secret-refresh",
			notes: "--apiserver-qps-throttle --cert-restart-on-secret-refresh --max-reconciles --metrics-addr --webhook-server-port",
		},
		{
			name:  "all others",
			args:  "--enable-stackdriver --enable-leader-election --leader-election-id=x --no-webhooks --webhooks-only --debug-logs --enable-test-log --suppress-object-tags=false --hrq-sync-interval=2m --enable-internal-cert-management=false",
			notes: "--debug-logs --enable-internal-cert-management --enable-leader-election --enable-stackdriver --enable-test-log --hrq-sync-interval --leader-election-id --no-webhooks --suppress-object-tags --webhooks-only",
		},
		{name: "what asks for nothing is not spoken of", args: "--enable-hrq=false --enable-stackdriver=false --enable-leader-election=false --no-webhooks=false --webhooks-only=false --debug-logs=false --enable-test-log=false --suppress-object-tags --cert-restart-on-secret-refresh=false"},
		{name: "alternatives are spoken of", args: "--included-namespace-regex=a|b", notes: "--included-namespace-regex=a|b"},
		{name: "in a group they are what they look like", args: "--included-namespace-regex=(a|b)"},
		{name: "none, nothing to say"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, err := given(t, strings.Fields(tt.args)...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, note := range g.Notes {
				flag, why, _ := strings.Cut(note, " ")
				if len(why) < 20 {
					t.Errorf("%q says nothing", note)
				}
				got = append(got, flag)
			}
			if diff := cmp.Diff(tt.notes, strings.Join(got, " ")); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
	if g, err := new(flags.Flags).Read(); err != nil || g.Overrides != nil {
		t.Errorf("flags that were never added say %v, %v", g, err)
	}
}

// Those that mean nothing are not in the help.
func TestAddTo_hidesWhatMeansNothing(t *testing.T) {
	t.Parallel()
	var f flags.Flags
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.AddTo(fs)
	usage := fs.FlagUsages()
	for flag, shown := range map[string]bool{
		"excluded-namespace": true, "included-namespace-regex": true, "managed-namespace-label": true, "managed-namespace-annotation": true,
		"unpropagated-label": true, "unpropagated-annotation": true, "nopropagation-label": true,
		"enable-hrq": false, "max-reconciles": false, "metrics-addr": false, "no-webhooks": false,
	} {
		if got := strings.Contains(usage, "--"+flag+" "); got != shown {
			t.Errorf("--%s shown: %t, want %t", flag, got, shown)
		}
	}
}
