// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
)

// served are the kinds of a small cluster.
type served map[string]bool

func (s served) Namespaced(gk schema.GroupKind) (namespaced, known bool) {
	namespaced, known = s[gk.String()]
	return namespaced, known
}

var cluster = served{
	"ConfigMap": true, "Secret": true, "ServiceAccount": true, "Namespace": false,
	"Deployment.apps": true, "Role.rbac.authorization.k8s.io": true, "ClusterRole.rbac.authorization.k8s.io": false,
	"CustomResourceDefinition.apiextensions.k8s.io": false, "RootSync.configsync.gke.io": true,
}

// files are those of an archive in the form of txtar; text that names no file is one.
func files(text string) []File {
	archive := txtar.Parse([]byte(text))
	if len(archive.Files) == 0 {
		return []File{{Path: "a.yaml", Data: archive.Comment}}
	}
	var out []File
	for _, f := range archive.Files {
		out = append(out, File{Path: f.Name, Data: f.Data})
	}
	return out
}

func ids(r Result) []string {
	var out []string
	for _, d := range r.Objects {
		out = append(out, d.ID().String()+" "+d.Path)
	}
	return out
}

// codes are the errors of a result, with the files that they are about.
func codes(errs []*knv.Error) []string {
	var out []string
	for _, e := range errs {
		line := string(e.Code)
		for _, r := range e.Resources {
			line += " " + r.Path
		}
		out = append(out, line)
	}
	return out
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: x}\n"

func TestParse_whatIsDeclared(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, files string
		want        []string
	}{
		{"an object", configMap, []string{"ConfigMap, x/a a.yaml"}},
		{"without a namespace it is in the default one", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", []string{"ConfigMap, default/a a.yaml"}},
		{"what is in no namespace stays so", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", []string{"Namespace, /a a.yaml"}},
		{
			"several documents, and empty ones",
			"# nothing\n---\n---\n" + configMap + "---  # next\n" + strings.Replace(configMap, "name: a", "name: b", 1) + "...\n---\n\n# nothing\n",
			[]string{"ConfigMap, x/a a.yaml", "ConfigMap, x/b a.yaml"},
		},
		{"a document on the line of its mark", `--- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: x}}`, []string{"ConfigMap, x/a a.yaml"}},
		{"with the line ends of Windows", strings.ReplaceAll(configMap+"---\n"+strings.Replace(configMap, "name: a", "name: b", 1), "\n", "\r\n"), []string{"ConfigMap, x/a a.yaml", "ConfigMap, x/b a.yaml"}},
		{"JSON that is indented with tabs", "-- a.json --\n{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"ConfigMap\",\n\t\"metadata\": {\"name\": \"a\", \"namespace\": \"x\"}\n}\n", []string{"ConfigMap, x/a a.json"}},
		{"an empty file of JSON", "-- a.json --\n", nil},
		{
			"a List, and a List in it",
			`{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: b}}]}]}`,
			[]string{"ConfigMap, default/a a.yaml", "Secret, default/b a.yaml"},
		},
		{"an empty List", "apiVersion: v1\nkind: List\n", nil},
		{"a list of a kind, whose items do not say it", `{apiVersion: v1, kind: ConfigMapList, items: [{metadata: {name: a}}]}`, []string{"ConfigMap, default/a a.yaml"}},
		{
			"what is for tools only is left out",
			`
-- Kptfile.yaml --
apiVersion: kpt.dev/v1
kind: Kptfile
metadata: {name: package}
-- fn.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: fn, annotations: {config.kubernetes.io/local-config: "true"}}
-- cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: cm, annotations: {config.kubernetes.io/local-config: "false"}}
`,
			[]string{"ConfigMap, default/cm cm.yaml"},
		},
		{
			"an anchor, and a key that is merged and then another",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &l {app: a, b: c}, annotations: {<<: *l, app: b}}\n",
			[]string{"ConfigMap, default/a a.yaml"},
		},
		{
			"an object of a kind that the same source defines",
			`
-- a.yaml --
apiVersion: example.com/v1
kind: Pump
metadata: {name: a}
-- b.yaml --
apiVersion: example.com/v1
kind: Well
metadata: {name: b}
-- crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pumps.example.com}
spec: {group: example.com, scope: Namespaced, names: {plural: pumps, kind: Pump}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: wells.example.com}
spec: {group: example.com, scope: Cluster, names: {plural: wells, kind: Well}}
`,
			[]string{
				"CustomResourceDefinition.apiextensions.k8s.io, /pumps.example.com crd.yaml",
				"CustomResourceDefinition.apiextensions.k8s.io, /wells.example.com crd.yaml",
				"Pump.example.com, default/a a.yaml", "Well.example.com, /b b.yaml",
			},
		},
		{"a RootSync", "apiVersion: configsync.gke.io/v1beta1\nkind: RootSync\nmetadata: {name: a, namespace: config-management-system, annotations: {configsync.gke.io/namespace-strategy: explicit}}\n", []string{"RootSync.configsync.gke.io, config-management-system/a a.yaml"}},
		{"names of RBAC", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"system:a:B\"}\n", []string{"ClusterRole.rbac.authorization.k8s.io, /system:a:B a.yaml"}},
		{
			"what has a name is no list, and fields that say nothing are no fault",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, creationTimestamp: null, generation: 0, uid: \"\", annotations: null}\nstatus: {}\n",
			[]string{"ConfigMap, default/a a.yaml"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Parse(files(tt.files), cluster)
			if len(got.Errors) > 0 || got.Blocked {
				t.Fatal(got.Errors)
			}
			if diff := cmp.Diff(tt.want, ids(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParse_takesOutWhatSaysNothing(t *testing.T) {
	t.Parallel()
	got := Parse(files("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, creationTimestamp: null, labels: null}\ndata: {a: null}\nstatus: {}\n"), cluster)
	want := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": nil},
		"metadata": map[string]any{"name": "a", "namespace": "default"},
	}
	if len(got.Objects) != 1 {
		t.Fatal(got.Errors)
	}
	if diff := cmp.Diff(want, got.Objects[0].Object.Object); diff != "" {
		t.Error(diff)
	}
}

func TestParse_stringDataIsData(t *testing.T) {
	t.Parallel()
	secret := func(text string) string { return "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n" + text + "\n" }
	for _, tt := range []struct{ name, text, want string }{
		{"alone", secret("stringData: {a: x, b: ''}"), `data: {a: eA==, b: ""}`},
		{"over data", secret("data: {a: eQ==, c: eg==}\nstringData: {a: x}"), `data: {a: eA==, c: eg==}`},
		{"with a value that is no text, which the API server refuses", secret("stringData: {a: x, b: 1}"), `stringData: {a: x, b: 1}`},
		{"beside data that is none", secret("data: x\nstringData: {a: x}"), `{data: x, stringData: {a: x}}`},
		{"of another kind", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nstringData: {a: x}\n", `stringData: {a: x}`},
	} {
		got := Parse(files(tt.text), cluster)
		if len(got.Objects) != 1 {
			t.Fatalf("%s: %v", tt.name, got.Errors)
		}
		have := got.Objects[0].Object.Object
		for _, key := range []string{"apiVersion", "kind", "metadata"} {
			delete(have, key)
		}
		var want map[string]any
		if err := yaml.Unmarshal([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(have)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// The values are those that kubectl would send.
func TestParse_values(t *testing.T) {
	t.Parallel()
	got := Parse(files(`apiVersion: v1
kind: ConfigMap
metadata: {name: a}
spec: {int: 1, big: 9007199254740993, float: 1.5, exp: 1e3, hex: 0x10, octal: 0644, yes: off, text: "1", no: ~}
`), cluster)
	if len(got.Objects) != 1 {
		t.Fatal(got.Errors)
	}
	want := map[string]any{
		"int": int64(1), "big": int64(9007199254740993), "float": 1.5, "exp": int64(1000), "hex": int64(16), "octal": int64(420),
		"true": false, "text": "1", "false": nil,
	}
	if diff := cmp.Diff(want, got.Objects[0].Object.Object["spec"]); diff != "" {
		t.Error(diff)
	}
}

func meta(s string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, " + s + "}\n"
}

func annotated(s string) string { return meta("annotations: {" + s + "}") }

func TestParse_whatIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, files, want string
		says              string
	}{
		{"managed: enabled", annotated("configmanagement.gke.io/managed: enabled"), "1005 a.yaml", `"disabled" only`},
		{"no YAML", "a: [", "1006 a.yaml", "a.yaml cannot be read: document 1: yaml: line 1"},
		{"a text", "hello", "1006 a.yaml", "not a text"},
		{"a list", "- a", "1006 a.yaml", "not a list"},
		{"something that is no object", "image: nginx\n", "1006 a.yaml", "keep files that are for other tools out"},
		{"an item of a List that is none", "{apiVersion: v1, kind: List, items: [1]}", "1006 a.yaml", "no object of Kubernetes"},
		{"a group of three parts", "apiVersion: a/b/c\nkind: X\nmetadata: {name: a}", "1006 a.yaml", "apiVersion"},
		{"metadata that is a text", "apiVersion: v1\nkind: ConfigMap\nmetadata: a\n", "1006 a.yaml", "no map"},
		{"a name that is a number", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 1}\n", "1006 a.yaml", "put 1 into quotes"},
		{"a key that is there twice", configMap + "data: {}\ndata: {a: b}\n", "1006 a.yaml", `line 5: the key "data" is there twice`},
		{"a key that is there twice in two forms", configMap + "data: {1: a, \"1\": b}\n", "1006 a.yaml", `the key "1" is there twice`},
		{"a key that is there twice as a boolean", configMap + "data: {yes: a, \"true\": b}\n", "1006 a.yaml", "is there twice"},
		{"a key that is there twice in JSON", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b", "a": "c"}}`, "1006 a.yaml", "duplicate"},
		{"two objects of JSON in one file", "-- a.json --\n" + `{"apiVersion": "v1"} {"kind": "X"}`, "1006 a.json", "cannot be read"},
		{"a bomb", bomb(8, 10), "1006 a.yaml", "more than 3 MiB"},
		{"an alias of itself", configMap + "data: &a {b: *a}\n", "1006 a.yaml", "more than 3 MiB"},
		{"an object that is too large", `{"apiVersion": "` + strings.Repeat("x", maxObject) + `"}`, "1006 a.yaml", "more than 3 MiB"},
		{"an annotation of Config Sync's own", annotated("configsync.gke.io/manager: x, configmanagement.gke.io/token: z"), "1010 a.yaml", "remove configmanagement.gke.io/token, configsync.gke.io/manager"},
		{"a label of Config Sync's own", meta("labels: {configsync.gke.io/declared-version: v1}"), "1011 a.yaml", "declared-version"},
		{
			"an object in two files", "-- a.yaml --\n" + configMap + "-- b.yaml --\n" + configMap,
			"1029 a.yaml b.yaml", "ConfigMap, x/a is declared 2 times",
		},
		{
			"an object with its namespace and without", "-- a.yaml --\n" + meta("namespace: default") + "-- b.yaml --\n" + meta(""),
			"1029 a.yaml b.yaml", "ConfigMap, default/a is declared 2 times",
		},
		{"no name", "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n", "1031 a.yaml", "metadata.generateName is not enough"},
		{"no metadata", "apiVersion: v1\nkind: ConfigMap\n", "1031 a.yaml", "metadata.name is missing"},
		{"the namespace of the RootSyncs", "apiVersion: v1\nkind: Namespace\nmetadata: {name: config-management-system}\n", "1034 a.yaml", "must not be declared"},
		{"a name that cannot be", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a_b}\n", "1036 a.yaml", `"a_b" cannot be`},
		{"a name of a Namespace that cannot be", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a.b}\n", "1036 a.yaml", `"a.b" cannot be`},
		{"a name of RBAC that cannot be", "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a/b}\n", "1036 a.yaml", `"a/b" cannot be`},
		{"a namespace that cannot be", meta("namespace: A"), "1036 a.yaml", "metadata.namespace"},
		{
			"the CRD of the RootSyncs", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: rootsyncs.configsync.gke.io}\nspec: {group: configsync.gke.io, scope: Namespaced, names: {plural: rootsyncs, kind: RootSync}}\n",
			"1043 a.yaml", "installed with Holdfast",
		},
		{"a uid", meta("uid: x"), "1045 a.yaml", "metadata.uid"},
		{"an owner", meta("ownerReferences: [{name: a}]"), "1045 a.yaml", "metadata.ownerReferences"},
		{"a time", meta("creationTimestamp: \"2026-01-01T00:00:00Z\""), "1045 a.yaml", "metadata.creationTimestamp"},
		{"a generation", meta("generation: 2"), "1045 a.yaml", "metadata.generation"},
		{"a status", configMap + "status: {phase: Active}\n", "1045 a.yaml", "status"},
		{
			"a CRD with another name", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: pump.example.com}\nspec: {group: example.com, names: {plural: pumps, kind: Pump}}\n",
			"1048 a.yaml", `so that it is "pumps.example.com"`,
		},
		{"a namespace on what is in none", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, namespace: b}\n", "1052 a.yaml", "remove the field"},
		{"a mistyped detach", annotated("client.lifecycle.config.k8s.io/deletion: detatch"), "1054 a.yaml", `only "detach" has a meaning`},
		{"a mistyped ignore", annotated("client.lifecycle.config.k8s.io/mutation: ignored"), "1054 a.yaml", `only "ignore"`},
		{"a dependency that cannot be read", annotated("config.kubernetes.io/depends-on: v1/ConfigMap"), "1054 a.yaml", "is neither"},
		{"a value of another object", annotated(`config.kubernetes.io/apply-time-mutation: "- a"`), "1054 a.yaml", "not supported"},
		{"a label that is a number", meta("labels: {a: 1, b: true, c: d}"), "1054 a.yaml", "put the value of a, b into quotes"},
		{
			"something managed where the namespace is not", "apiVersion: v1\nkind: Namespace\nmetadata: {name: x, annotations: {configmanagement.gke.io/managed: disabled}}\n---\n" + configMap,
			"1056 a.yaml", "The Namespace \"x\"",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Parse(files(tt.files), cluster)
			if diff := cmp.Diff([]string{tt.want}, codes(got.Errors)); diff != "" {
				t.Fatal(diff, got.Errors)
			}
			if !strings.Contains(got.Errors[0].Text, tt.says) {
				t.Errorf("it says %q and not %q", got.Errors[0].Text, tt.says)
			}
			if !got.Blocked || len(got.Objects) > 0 {
				t.Error("it does not block")
			}
		})
	}
}

func TestParse_aKindThatNobodyServesDoesNotBlock(t *testing.T) {
	t.Parallel()
	got := Parse(files(configMap+"---\napiVersion: example.com/v1\nkind: Pump\nmetadata: {name: a}\n"), cluster)
	if got.Blocked {
		t.Error("it blocks")
	}
	if diff := cmp.Diff([]string{"1021 a.yaml"}, codes(got.Errors)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"ConfigMap, x/a a.yaml"}, ids(got)); diff != "" {
		t.Error(diff)
	}
	if len(got.Withheld) != 1 || got.Withheld[0].ID().Kind != "Pump" {
		t.Error("it is not withheld:", got.Withheld)
	}
}

// A CRD that is not to be managed is not applied, so its kind is not served.
func TestParse_aCRDThatIsNotManagedDefinesNothing(t *testing.T) {
	t.Parallel()
	got := Parse(files(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pumps.example.com, annotations: {configmanagement.gke.io/managed: disabled}}
spec: {group: example.com, scope: Namespaced, names: {plural: pumps, kind: Pump}}
---
apiVersion: example.com/v1
kind: Pump
metadata: {name: a}
`), cluster)
	if diff := cmp.Diff([]string{"1021 a.yaml"}, codes(got.Errors)); diff != "" {
		t.Error(diff)
	}
}

func TestParse_allErrorsAreTold(t *testing.T) {
	t.Parallel()
	in := files("-- a.yaml --\n" + meta("uid: x, namespace: A") + "-- b.yaml --\na: [\n-- c.yaml --\nkind: X\n")
	want := []string{"1006 b.yaml", "1006 c.yaml", "1036 a.yaml", "1045 a.yaml"}
	got := Parse(in, cluster)
	if diff := cmp.Diff(want, codes(got.Errors)); diff != "" {
		t.Error(diff)
	}
	slices.Reverse(in)
	if diff := cmp.Diff(got, Parse(in, cluster), cmpopts.IgnoreFields(knv.Error{}, "Err")); diff != "" {
		t.Error("another order of the files has another result:", diff)
	}
}

func TestDocuments_nothingIsLargerThanTheMemory(t *testing.T) {
	t.Parallel()
	budget := 3 * len(configMap)
	if docs, err := documents([]byte(configMap), &budget); err != nil || len(docs) != 1 {
		t.Error(docs, err)
	}
	budget = len(configMap) / 2
	if docs, err := documents([]byte(configMap), &budget); !errors.Is(err, errTotal) || len(docs) > 0 {
		t.Error(docs, err)
	}
}

// bomb is an object of some levels, each an alias to the one before, several times.
func bomb(levels, width int) string {
	var b strings.Builder
	b.WriteString(configMap + "data:\n  a0: &a0 [x]\n")
	for i := 1; i < levels; i++ {
		fmt.Fprintf(&b, "  a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), width), ","))
	}
	return b.String()
}
