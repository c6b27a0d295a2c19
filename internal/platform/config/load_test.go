// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// header starts every valid document.
const header = "apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\n"

func defaults() *configv1alpha1.HoldfastConfiguration {
	cfg := &configv1alpha1.HoldfastConfiguration{}
	configv1alpha1.SetDefaults(cfg)
	return cfg
}

func mustLoad(t *testing.T, document string) *configv1alpha1.HoldfastConfiguration {
	t.Helper()
	cfg, err := config.Load([]byte(document))
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return cfg
}

func TestLoad(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		document string
		want     func(*configv1alpha1.HoldfastConfiguration)
	}{
		{name: "the header alone is all defaults", document: header},
		{name: "comments and a document mark change nothing", document: "# hello\n---\n" + header},
		{name: "JSON is read as well", document: `{"apiVersion": "config.holdfast.dev/v1alpha1", "kind": "HoldfastConfiguration"}`},
		{name: "a field without a value has its default", document: header + "deletion:\ncertificates: {validity: , provider: null}\n"},
		{
			name: "the mode Off needs no quotes", document: header + "deletion: {mode: Off}\n",
			want: func(c *configv1alpha1.HoldfastConfiguration) { c.Deletion.Mode = configv1alpha1.ModeOff },
		},
		{
			name: "what is set stays",
			document: header + `
featureGates: {SomeGate: true}
scope:
  namespaces: ["!kube-*", " ", "re:team-[ab]"]
  namespaceSelector: {matchLabels: {env: prod}}
admission: {selfProtection: Warn, webhookClients: {caFile: /etc/ca.crt, commonNames: [api]}}
certificates: {provider: Secret, secretName: mine, validity: 1m, authorityValidity: 61s, overlap: 20s}
deletion:
  mode: Audit
  scope: {namespaces: [a]}
  labels: {karmada: Ignore, kruise: Strict}
  workloadControllers: ["system:serviceaccount:kruise-system:kruise-manager"]
  onOutage: Allow
  overrides: {maxDuration: 10m, approval: Required}
serviceAccounts: {mode: Report, existing: Replace, identities: All, scope: {namespaces: [b]}, strimzi: {labelsExclusionPattern: ""}}
`,
			want: func(c *configv1alpha1.HoldfastConfiguration) {
				c.FeatureGates = map[string]bool{"SomeGate": true}
				c.Scope = configv1alpha1.Scope{
					Namespaces:        []string{"!kube-*", " ", "re:team-[ab]"},
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}},
				}
				c.Admission.SelfProtection = configv1alpha1.ModeWarn
				c.Admission.WebhookClients = configv1alpha1.WebhookClients{CAFile: "/etc/ca.crt", CommonNames: []string{"api"}}
				c.Certificates = configv1alpha1.CertificatesConfiguration{
					Provider:          configv1alpha1.CertificatesBySecret,
					SecretName:        "mine",
					Validity:          metav1.Duration{Duration: time.Minute},
					AuthorityValidity: metav1.Duration{Duration: 61 * time.Second},
					Overlap:           metav1.Duration{Duration: 20 * time.Second},
				}
				c.Deletion = configv1alpha1.DeletionConfiguration{
					Mode:                configv1alpha1.ModeAudit,
					Scope:               configv1alpha1.Scope{Namespaces: []string{"a"}},
					Labels:              configv1alpha1.DeletionLabels{Karmada: configv1alpha1.LabelIgnored, Kruise: configv1alpha1.LabelStrict},
					WorkloadControllers: []string{"system:serviceaccount:kruise-system:kruise-manager"},
					OnOutage:            configv1alpha1.OutageAllows,
					Overrides: configv1alpha1.OverridesConfiguration{
						MaxDuration: metav1.Duration{Duration: 10 * time.Minute},
						Approval:    configv1alpha1.ApprovalRequired,
					},
				}
				c.ServiceAccounts = configv1alpha1.ServiceAccountsConfiguration{
					Mode:     configv1alpha1.ServiceAccountsReport,
					Existing: configv1alpha1.ExistingReplace, Identities: configv1alpha1.IdentitiesAll,
					Scope:   configv1alpha1.Scope{Namespaces: []string{"b"}},
					Strimzi: configv1alpha1.StrimziAccountsConfiguration{LabelsExclusionPattern: new("")},
				}
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := defaults()
			if test.want != nil {
				test.want(want)
			}
			if diff := cmp.Diff(want, mustLoad(t, test.document)); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoad_refuses(t *testing.T) {
	t.Parallel()
	const start = `start with "apiVersion: config.holdfast.dev/v1alpha1" and "kind: HoldfastConfiguration"`
	tests := []struct {
		name     string
		document string
		want     []string // all problems, in order
	}{
		{name: "an empty document", want: []string{"the document is empty: " + start}},
		{name: "a document of comments", document: "# nothing\n", want: []string{"the document is empty: " + start}},
		{name: "a document that is null", document: "null\n", want: []string{"the document is not a list of fields with values: " + start}},
		{name: "a document that is a list", document: "- a\n", want: []string{"the document is not a list of fields with values: " + start}},
		{
			name: "what is not YAML", document: "a: [",
			want: []string{"the document is not YAML: yaml: line 1: did not find expected node content"},
		},
		{
			name: "two documents", document: header + "---\n" + header,
			want: []string{`there is more than one YAML document: keep one, without "---" behind it`},
		},
		{
			name: "a document that is too long", document: header + "#" + strings.Repeat(" ", config.MaxSize),
			want: []string{"the document has 1048646 bytes, at most 1048576 are read: shorten it"},
		},
		{
			name: "a document without its header", document: "deletion: {}",
			want: []string{"apiVersion: Required value: " + start, "kind: Required value: " + start},
		},
		{
			name: "another kind, whose fields are not looked at", document: "apiVersion: v1\nkind: ConfigMap\ndata: {}\n",
			want: []string{
				`apiVersion: Unsupported value: "v1": supported values: "config.holdfast.dev/v1alpha1"`,
				`kind: Unsupported value: "ConfigMap": supported values: "HoldfastConfiguration"`,
			},
		},
		{
			name:     "fields that do not exist, with those that do",
			document: header + "scop: {}\nDeletion: {}\ndeletion: {labels: {strict: true}}\nscope: {namespaceSelector: {labels: {}}}\n",
			want: []string{
				"Deletion: Forbidden: there is no such field: known here are " +
					"admission, apiVersion, certificates, deletion, eviction, featureGates, hierarchy, kind, rootSync, scope, serviceAccounts",
				"deletion.labels.strict: Forbidden: there is no such field: known here are karmada, kruise",
				"scop: Forbidden: there is no such field: known here are " +
					"admission, apiVersion, certificates, deletion, eviction, featureGates, hierarchy, kind, rootSync, scope, serviceAccounts",
				"scope.namespaceSelector.labels: Forbidden: there is no such field: known here are matchExpressions, matchLabels",
			},
		},
		{
			name:     "fields that stand twice",
			document: header + "deletion:\n  mode: Warn\n  mode: Off\ndeletion: {}\nscope: {namespaceSelector: {matchExpressions: [{key: a, key: b}]}}\n",
			want: []string{
				"deletion.mode: Duplicate value: the field stands on line 4 and again on line 5: keep one",
				"deletion: Duplicate value: the field stands on line 3 and again on line 6: keep one",
				"scope.namespaceSelector.matchExpressions[0].key: Duplicate value: the field stands on line 7 and again on line 7: keep one",
			},
		},
		{
			name: "values of another type",
			document: header + "featureGates: {A: \"true\"}\nadmission: []\ncertificates: {validity: 5x, overlap: 5}\n" +
				"deletion: {mode: 5, scope: {namespaces: a}, workloadControllers: [{a: b}, true]}\nscope: {namespaceSelector: {matchLabels: [a]}}\n",
			want: []string{
				"admission: Invalid value: must be a list of fields with values",
				"certificates.overlap: Invalid value: 5: must be a duration, such as 90m or 24h",
				`certificates.validity: Invalid value: "5x": must be a duration, such as 90m or 24h; the units are h, m, s and smaller`,
				"deletion.mode: Invalid value: 5: must be text, in quotes if it looks like something else",
				`deletion.scope.namespaces: Invalid value: "a": must be a list`,
				"deletion.workloadControllers[0]: Invalid value: must be text, in quotes if it looks like something else",
				"deletion.workloadControllers[1]: Invalid value: true: must be text, in quotes if it looks like something else",
				`featureGates[A]: Invalid value: "true": must be true or false, without quotes`,
				"scope.namespaceSelector.matchLabels: Invalid value: must be a list of names with values",
			},
		},
		{
			name:     "a boolean of older YAML",
			document: header + "featureGates: {A: yes}\n",
			want:     []string{`featureGates[A]: Invalid value: "yes": must be true or false, without quotes`},
		},
		{
			name:     "a name that is not text",
			document: header + "deletion: {1: true}\nscope: {namespaces: [2020-01-01, 0x10, ~]}\n",
			want: []string{
				"deletion: Invalid value: has a name that is not text: put it in quotes",
				`scope.namespaces[0]: Invalid value: "2020-01-01T00:00:00Z": must be text, in quotes if it looks like something else`,
				"scope.namespaces[1]: Invalid value: 16: must be text, in quotes if it looks like something else",
			},
		},
		{
			name: "every value that is not allowed",
			document: header + `
featureGates: {"a b": true}
scope: {namespaces: ["", Kafka], namespaceSelector: {matchExpressions: [{key: a, operator: Has}]}}
admission: {selfProtection: On}
certificates: {provider: cert-manager, secretName: A_B, validity: 59s, authorityValidity: 59s, overlap: 20s}
deletion:
  mode: enforce
  scope: {namespaces: ["re:("]}
  labels: {karmada: "true", kruise: Always}
  workloadControllers: [a, "", "b c", a]
  onOutage: Deny
  overrides: {maxDuration: 25h, approval: Yes}
rootSync: {renderTimeout: 2h}
`,
			want: []string{
				`featureGates: Invalid value: "a b": no feature gate can have this name: use letters and digits`,
				`scope.namespaces[1]: Invalid value: "Kafka": no namespace can have this name: use lowercase letters, digits and '-', ` +
					`at most 63 and not '-' at either end; for a pattern use * and ?, or put "re:" before a regular expression`,
				`scope.namespaceSelector.matchExpressions[0].operator: Invalid value: "Has": not a valid selector operator`,
				"deletion.scope.namespaces[0]: Invalid value: \"re:(\": error parsing regexp: missing closing ): `(`: " +
					"use the syntax of RE2, see https://github.com/google/re2/wiki/Syntax",
				`admission.selfProtection: Unsupported value: "On": supported values: "Off", "Audit", "Warn", "Enforce"`,
				`certificates.provider: Unsupported value: "cert-manager": supported values: "Holdfast", "Secret"`,
				`certificates.secretName: Invalid value: "A_B": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, ` +
					`'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is ` +
					`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
				`certificates.validity: Invalid value: "59s": must be at least 1m0s`,
				`certificates.authorityValidity: Invalid value: "59s": must be longer than validity, which is 59s`,
				`certificates.overlap: Invalid value: "20s": must be more than 0s and less than a third of authorityValidity, which is 19.666666666s`,
				`deletion.mode: Unsupported value: "enforce": supported values: "Off", "Audit", "Warn", "Enforce"`,
				`deletion.labels.karmada: Unsupported value: "true": supported values: "Ignore", "Open", "Strict"`,
				`deletion.labels.kruise: Unsupported value: "Always": supported values: "Ignore", "Open", "Strict"`,
				"deletion.workloadControllers[1]: Required value: write the name of a user, such as system:serviceaccount:NAMESPACE:NAME, or remove the item",
				`deletion.workloadControllers[2]: Invalid value: "b c": must be one user name, without spaces; write each in an item of its own`,
				`deletion.workloadControllers[3]: Duplicate value: "a"`,
				`deletion.onOutage: Unsupported value: "Deny": supported values: "Refuse", "Allow"`,
				`deletion.overrides.approval: Unsupported value: "Yes": supported values: "NotRequired", "Required"`,
				`deletion.overrides.maxDuration: Invalid value: "25h0m0s": must be between 1s and 24h`,
				`rootSync.renderTimeout: Invalid value: "2h0m0s": must be between 1s and 1h`,
			},
		},
		{
			name:     "what is wrong about the clients of webhooks",
			document: header + "admission: {webhookClients: {caFile: ca.crt, commonNames: [a, '', a]}}\n",
			want: []string{
				`admission.webhookClients.caFile: Invalid value: "ca.crt": must be an absolute path`,
				"admission.webhookClients.commonNames[1]: Required value: write the common name of a certificate, or remove the item",
				`admission.webhookClients.commonNames[2]: Duplicate value: "a"`,
			},
		},
		{
			name:     "names without authorities",
			document: header + "admission: {webhookClients: {commonNames: [a]}}\n",
			want:     []string{"admission.webhookClients.caFile: Required value: commonNames count only for certificates of its authorities"},
		},
		{
			name:     "what is wrong about service accounts",
			document: header + "serviceAccounts: {mode: Audit, existing: Patch, identities: None, scope: {namespaces: [A]}, strimzi: {labelsExclusionPattern: '('}}\n",
			want: []string{
				`serviceAccounts.scope.namespaces[0]: Invalid value: "A": no namespace can have this name: use lowercase letters, digits and '-', ` +
					`at most 63 and not '-' at either end; for a pattern use * and ?, or put "re:" before a regular expression`,
				`serviceAccounts.mode: Unsupported value: "Audit": supported values: "Off", "Report", "Enforce"`,
				`serviceAccounts.existing: Unsupported value: "Patch": supported values: "Apply", "Replace"`,
				`serviceAccounts.identities: Unsupported value: "None": supported values: "Owned", "All"`,
				"serviceAccounts.strimzi.labelsExclusionPattern: Invalid value: \"(\": must be a regular expression: " +
					"error parsing regexp: missing closing ) in `(`",
			},
		},
		{
			name:     "a negative overlap",
			document: header + "certificates: {overlap: -1h}\n",
			want: []string{`certificates.overlap: Invalid value: "-1h0m0s": must be more than 0s and less than a third of authorityValidity, ` +
				"which is 14600h0m0s"},
		},
		{
			name:     "a list of patterns that no policy can hold",
			document: header + "deletion: {scope: {namespaces: ['re:" + strings.Repeat("a|", 50_000) + "']}}\n",
			want: []string{"deletion.scope.namespaces: Invalid value: the list is too long for the API server because it has patterns: " +
				"use fewer patterns, exact names alone, or a label and namespaceSelector"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Load([]byte(test.document))
			if cfg != nil {
				t.Error("a configuration beside the error")
			}
			want := "invalid configuration: " + strings.Join(test.want, "; ")
			if diff := cmp.Diff(want, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoader_Load_overrides(t *testing.T) {
	t.Parallel()
	deletionScope := func(c *configv1alpha1.HoldfastConfiguration) *configv1alpha1.Scope { return &c.Deletion.Scope }
	fromVariable := func(value string) config.Override {
		selected, err := scope.FromDrainNamespaces(value, true)
		return config.ScopeOverride(deletionScope, selected, err)
	}
	refuse := func(*configv1alpha1.HoldfastConfiguration) error { return errors.New("--mode: no such mode") }
	weaken := func(c *configv1alpha1.HoldfastConfiguration) error {
		c.Deletion.Mode = ""
		return nil
	}
	misspell := func(c *configv1alpha1.HoldfastConfiguration) error {
		c.Deletion.Mode = "enforce"
		return nil
	}
	document := header + "deletion: {mode: Warn, scope: {namespaces: [a]}}\n"

	tests := []struct {
		name      string
		overrides []config.Override
		want      func(*configv1alpha1.HoldfastConfiguration)
		wantErr   string
	}{
		{
			name:      "an override goes before the file",
			overrides: []config.Override{fromVariable("b,c")},
			want: func(c *configv1alpha1.HoldfastConfiguration) {
				c.Deletion.Mode = configv1alpha1.ModeWarn
				c.Deletion.Scope.Namespaces = []string{"b", "c"}
			},
		},
		{
			name:      "a scope of the environment that cannot be read is all namespaces",
			overrides: []config.Override{fromVariable("Kafka_1")},
			want:      func(c *configv1alpha1.HoldfastConfiguration) { c.Deletion.Mode = configv1alpha1.ModeWarn },
		},
		{
			name:      "what an override empties has its default",
			overrides: []config.Override{weaken},
			want:      func(c *configv1alpha1.HoldfastConfiguration) { c.Deletion.Scope.Namespaces = []string{"a"} },
		},
		{name: "what an override sets is validated", overrides: []config.Override{misspell}, wantErr: "deletion.mode: Unsupported value"},
		{name: "an override can refuse", overrides: []config.Override{refuse}, wantErr: "invalid configuration: --mode: no such mode"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			loader := config.Loader{Overrides: test.overrides}
			for range 2 { // an override does the same on every load
				got, err := loader.Load([]byte(document))
				if test.wantErr != "" || err != nil {
					if !strings.Contains(message(err), test.wantErr) || test.wantErr == "" {
						t.Fatalf("error %q does not say %q", message(err), test.wantErr)
					}
					return
				}
				want := defaults()
				test.want(want)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("configuration (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestLoader_Load_validators(t *testing.T) {
	t.Parallel()
	noGates := func(c *configv1alpha1.HoldfastConfiguration) field.ErrorList {
		if len(c.FeatureGates) == 0 {
			return nil
		}
		return field.ErrorList{field.Forbidden(field.NewPath("featureGates"), "there are none")}
	}
	loader := config.Loader{Validators: []config.Validator{noGates}}
	_, err := loader.Load([]byte(header + "featureGates: {A: true}\ndeletion: {mode: On}\n"))
	for _, want := range []string{"featureGates: Forbidden: there are none", "deletion.mode: Unsupported value"} {
		if !strings.Contains(message(err), want) {
			t.Errorf("error %q does not say %q", message(err), want)
		}
	}
	if _, err := loader.Load([]byte(header)); err != nil {
		t.Errorf("load: %v", err)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	got, err := config.Encode(&configv1alpha1.HoldfastConfiguration{Scope: configv1alpha1.Scope{Namespaces: []string{"!kube-*"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := `admission:
  selfProtection: Enforce
apiVersion: config.holdfast.dev/v1alpha1
certificates:
  authorityValidity: 43800h0m0s
  overlap: 24h0m0s
  provider: Holdfast
  secretName: holdfast-guard-tls
  validity: 2160h0m0s
deletion:
  labels:
    karmada: Open
    kruise: Open
  mode: Enforce
  onOutage: Refuse
  overrides:
    approval: NotRequired
    maxDuration: 1h0m0s
eviction:
  drainCleaner:
    denyEviction: true
    enabled: true
    kafka: true
    zookeeper: true
  filter: Handler
  mode: Enforce
  onOutage: Allow
  pods: Read
  protectedPods: Allow
hierarchy:
  brake:
    minimum: 50
    percent: 25
  excludedNamespaces:
    - kube-system
    - kube-public
    - kube-node-lease
    - hnc-system
  mode: "Off"
  reservedNamespaces:
    - '*-system'
    - argocd
    - cattle-*
    - cert-manager
    - external-dns
    - external-secrets
    - gke-*
    - gmp-*
    - gpu-operator
    - holdfast
    - ingress-nginx
    - istio-*
    - kubernetes-dashboard
    - kyverno
    - monitoring
    - openshift-*
    - rook-ceph
    - tigera-operator
    - vault
    - velero
  uncopiedLabels:
    - cattle.io/creator=norman
kind: HoldfastConfiguration
rootSync:
  claims: true
  renderTimeout: 1m0s
scope:
  namespaces:
    - '!kube-*'
serviceAccounts:
  existing: Apply
  identities: Owned
  mode: "Off"
  strimzi:
    labelsExclusionPattern: (^app.kubernetes.io/(?!part-of).*|^kustomize.toolkit.fluxcd.io.*)
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

// FuzzLoad holds that nothing makes Load panic, and that a configuration that
// was read is written and read again as the same.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"", "null", "a: [", header, header + "---\n", "&a [*a]", "? {a: b}\n: c\n",
		header + "scope: {namespaces: [\"re:a|b\", \"!kube-*\"], namespaceSelector: {matchLabels: {env: prod}}}\n",
		header + "certificates: {validity: 1m, authorityValidity: 100h, overlap: 1s}\nfeatureGates: {A: true, \"<<\": false}\n",
		header + "deletion: {mode: 5, mode: Off, workloadControllers: [a, \"\\u0007\"]}\n",
		header + "deletion: &d {mode: Warn}\nadmission: {<<: *d}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := config.Load(data)
		if err != nil {
			if first != nil || strings.Contains(err.Error(), "<nil>") {
				t.Errorf("configuration %v beside error %v", first, err)
			}
			return
		}
		written, err := config.Encode(first)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		second, err := config.Load(written)
		if err != nil {
			t.Fatalf("load again: %v\n%s", err, written)
		}
		again, err := config.Encode(second)
		if err != nil {
			t.Fatalf("encode again: %v", err)
		}
		if diff := cmp.Diff(string(written), string(again)); diff != "" {
			t.Errorf("written again (-first +second):\n%s", diff)
		}
	})
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
