// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/builtin"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// cluster is what was read of one: objects of Strimzi, and accounts, in YAML each, with
// a configuration.
func cluster(t *testing.T, configuration string, objects, accounts []string) *seen {
	t.Helper()
	loaded, err := config.Load([]byte(config.Empty + configuration))
	if err != nil {
		t.Fatal(err)
	}
	s := &seen{wants: map[types.NamespacedName][]mapping.Want{}, accounts: map[types.NamespacedName]*metav1.PartialObjectMetadata{}}
	if s.settings, err = settingsOf(loaded); err != nil {
		t.Fatal(err)
	}
	templates, err := builtin.Templates(s.settings.LabelsExclusionPattern)
	if err != nil {
		t.Fatal(err)
	}
	var mappings []*mapping.Mapping
	for i := range templates {
		m, problems := mapping.Compile(&templates[i])
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		mappings = append(mappings, m)
	}
	for _, text := range objects {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte("apiVersion: kafka.strimzi.io/v1\n"+text), &o.Object); err != nil {
			t.Fatal(err)
		}
		o.SetUID(types.UID(o.GetKind() + o.GetName()))
		for _, m := range mappings {
			if m.Source.Kind == o.GetKind() {
				s.add(m.Wants(o))
			}
		}
	}
	for _, text := range accounts {
		o := &metav1.PartialObjectMetadata{}
		if err := yaml.UnmarshalStrict([]byte(text), o); err != nil {
			t.Fatal(err)
		}
		o.UID, o.ResourceVersion = types.UID(o.Name), "1"
		s.accounts[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = o
	}
	return s
}

// setBy is an entry of managedFields, three days old.
func setBy(manager, operation, fields string) string {
	return `{manager: ` + manager + `, operation: ` + operation + `, apiVersion: v1, time: "2026-11-18T12:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:metadata": ` + fields + `}}`
}

const (
	connect1 = "kind: KafkaConnect\nmetadata: {name: shop, namespace: a}\n"
	roleARN  = "spec: {template: {serviceAccount: {metadata: {annotations: {eks.amazonaws.com/role-arn: arn:new, note: hi}}}}}\n"
	labels   = `{strimzi.io/kind: KafkaConnect, strimzi.io/name: shop-connect, strimzi.io/cluster: shop, strimzi.io/component-type: kafka-connect, ` +
		`app.kubernetes.io/name: kafka-connect, app.kubernetes.io/instance: shop, app.kubernetes.io/part-of: strimzi-shop, app.kubernetes.io/managed-by: strimzi-cluster-operator}`
	labelFields = `"f:labels": {"f:strimzi.io/kind": {}, "f:strimzi.io/name": {}, "f:strimzi.io/cluster": {}, "f:strimzi.io/component-type": {}, ` +
		`"f:app.kubernetes.io/name": {}, "f:app.kubernetes.io/instance": {}, "f:app.kubernetes.io/part-of": {}, "f:app.kubernetes.io/managed-by": {}}`
	owned = `ownerReferences: [{apiVersion: kafka.strimzi.io/v1, kind: KafkaConnect, name: shop, uid: KafkaConnectshop, controller: false, blockOwnerDeletion: true}]`
)

// account is shop-connect with the labels of Strimzi and annotations, and its object owns it.
func account(annotations string, managers ...string) string {
	return strings.Replace(byHandMade(annotations, managers...), "metadata: {", "metadata: {"+owned+", ", 1)
}

// byHandMade is the same without an owner.
func byHandMade(annotations string, managers ...string) string {
	return "metadata: {name: shop-connect, namespace: a, labels: " + labels + ", annotations: {" + annotations + "}, managedFields: [" + strings.Join(managers, ", ") + "]}"
}

func TestPlan_text(t *testing.T) {
	t.Parallel()
	strimzi := setBy("fabric8-kubernetes-client", "Update", "{"+labelFields+"}")
	byHand := setBy("kubectl-annotate", "Update", `{"f:annotations": {"f:eks.amazonaws.com/role-arn": {}}}`)
	tests := []struct {
		name              string
		configuration     string
		objects, accounts []string
		operator          bool
		pods              []string
		template          string
		all               bool
		want              string
	}{
		{name: "nothing there", want: "0 accounts, none would change\n"},
		{
			name: "a role on an account of Strimzi's", objects: []string{connect1 + roleARN}, accounts: []string{account("", strimzi)}, pods: []string{"shop-connect-0", "shop-connect-1"},
			want: `a/shop-connect would be written: ServiceAccountTemplate strimzi-kafkaconnect for KafkaConnect shop
  CHANGE   KEY                                     SET BY   VALUE
  added    annotation eks.amazonaws.com/role-arn   -        "arn:new"
  added    annotation note                         -        "hi"
  identity: eks.amazonaws.com/role-arn is of EKS: the IAM role that the pods may assume
  restart: 2 pods see it once made anew: shop-connect-0, shop-connect-1
1 account, 1 would change: 2 keys added
`,
		},
		{
			name: "what people have set is yielded, and told", objects: []string{connect1 + roleARN}, all: true,
			accounts: []string{account("eks.amazonaws.com/role-arn: arn:old, note: hi", byHand, setBy("holdfast-serviceaccounts", "Apply", `{`+labelFields+`, "f:annotations": {"f:note": {}}}`))},
			want: `a/shop-connect stays as it is: ServiceAccountTemplate strimzi-kafkaconnect for KafkaConnect shop
  CHANGE    KEY                                     SET BY                                    VALUE
  kept      label app.kubernetes.io/instance        holdfast-serviceaccounts (Apply) 3d ago   "shop"
  kept      label app.kubernetes.io/managed-by      holdfast-serviceaccounts (Apply) 3d ago   "strimzi-cluster-operator"
  kept      label app.kubernetes.io/name            holdfast-serviceaccounts (Apply) 3d ago   "kafka-connect"
  kept      label app.kubernetes.io/part-of         holdfast-serviceaccounts (Apply) 3d ago   "strimzi-shop"
  kept      label strimzi.io/cluster                holdfast-serviceaccounts (Apply) 3d ago   "shop"
  kept      label strimzi.io/component-type         holdfast-serviceaccounts (Apply) 3d ago   "kafka-connect"
  kept      label strimzi.io/kind                   holdfast-serviceaccounts (Apply) 3d ago   "KafkaConnect"
  kept      label strimzi.io/name                   holdfast-serviceaccounts (Apply) 3d ago   "shop-connect"
  yielded   annotation eks.amazonaws.com/role-arn   kubectl-annotate (Update) 3d ago          "arn:old", wanted "arn:new"
  kept      annotation note                         holdfast-serviceaccounts (Apply) 3d ago   "hi"
1 account, none would change; 1 conflict
`,
		},
		{
			name: "a role on an account that people made", objects: []string{connect1 + roleARN}, accounts: []string{byHandMade("", strimzi)},
			want: `a/shop-connect would be written: ServiceAccountTemplate strimzi-kafkaconnect for KafkaConnect shop
  CHANGE     KEY                                     SET BY   VALUE
  withheld   annotation eks.amazonaws.com/role-arn   -        not set, wanted "arn:new"
  added      annotation note                         -        "hi"
  withheld: KafkaConnect shop does not own the account: let it own it, set the key by hand, or set serviceAccounts.identities: All
1 account, 1 would change: 1 key added; 1 conflict
`,
		},
		{
			name: "a role on an account that people made, as it is configured", configuration: "serviceAccounts: {identities: All}\n",
			objects: []string{connect1 + roleARN}, accounts: []string{byHandMade("note: hi", strimzi)},
			want: `a/shop-connect would be written: ServiceAccountTemplate strimzi-kafkaconnect for KafkaConnect shop
  CHANGE   KEY                                     SET BY   VALUE
  added    annotation eks.amazonaws.com/role-arn   -        "arn:new"
  identity: eks.amazonaws.com/role-arn is of EKS: the IAM role that the pods may assume
  restart: no pod is known that would have to be made anew
1 account, 1 would change: 1 key added
`,
		},
		{
			name: "in ownership alone", objects: []string{connect1 + "spec: {}\n"}, accounts: []string{account("", strimzi)},
			want: `a/shop-connect would be written: ServiceAccountTemplate strimzi-kafkaconnect for KafkaConnect shop
  no value changes: Holdfast would own what is as the template says already
1 account, 1 would change: 1 in ownership alone
`,
		},
		{
			name: "an operator that runs keeps what it has set", operator: true, objects: []string{connect1 + roleARN},
			accounts: []string{account("note: other", strimzi, setBy("strimzi-cluster-operator", "Update", `{"f:annotations": {"f:note": {}}}`))},
			want: `a/shop-connect would be written: ServiceAccountTemplate strimzi-kafkaconnect for KafkaConnect shop
  CHANGE   KEY                                     SET BY   VALUE
  added    annotation eks.amazonaws.com/role-arn   -        "arn:new"
  identity: eks.amazonaws.com/role-arn is of EKS: the IAM role that the pods may assume
  restart: no pod is known that would have to be made anew
note: Strimzi's operator runs: Holdfast would leave what it sets as it is
1 account, 1 would change: 1 key added; 1 conflict
--all shows what stays as others have set it.
`,
		},
		{
			name: "replacing shows what would be lost", configuration: "serviceAccounts: {existing: Replace}\n", objects: []string{connect1 + "spec: {}\n"},
			accounts: []string{account("eks.amazonaws.com/role-arn: arn:old", strimzi, byHand)}, pods: []string{"shop-connect-0"},
			want: `a/shop-connect would be replaced: ServiceAccountTemplate strimzi-kafkaconnect for KafkaConnect shop
  CHANGE    KEY                                     SET BY                             VALUE
  removed   annotation eks.amazonaws.com/role-arn   kubectl-annotate (Update) 3d ago   "arn:old"
  identity: eks.amazonaws.com/role-arn is of EKS: the IAM role that the pods may assume
  restart: 1 pod sees it once made anew: shop-connect-0
1 account, 1 would change: 1 key removed
`,
		},
		{
			name: "another team's account is refused", objects: []string{connect1 + "spec: {}\n"},
			accounts: []string{"metadata: {name: shop-connect, namespace: a, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: bank, uid: bank}]}"},
			want: `a/shop-connect stays as it is: ServiceAccountTemplate strimzi-kafkaconnect for KafkaConnect shop
  why: it belongs to the ConfigMap bank
1 account, none would change; 1 conflict
`,
		},
		{
			name: "a mistake is told", objects: []string{"kind: KafkaConnect\nmetadata: {name: shop, namespace: a, labels: {strimzi.io/x: z}}\nspec: {}\n"},
			want: `a/shop-connect stays as it is: ServiceAccountTemplate strimzi-kafkaconnect for KafkaConnect shop
  why: Labels starting with strimzi.io/ are not allowed in Custom Resources, such labels should be removed.
1 account, none would change; 1 error
`,
		},
		{
			name: "what is out of scope is left out", configuration: "serviceAccounts: {scope: {namespaces: [b]}}\n", objects: []string{connect1 + "spec: {}\n"},
			want: "0 accounts, none would change\n",
		},
		{
			name: "one template alone", template: "strimzi-kafkabridge", objects: []string{connect1 + "spec: {}\n", "kind: KafkaBridge\nmetadata: {name: front, namespace: a}\nspec: {}\n"},
			accounts: []string{"metadata: {name: other, namespace: a}"},
			want: `a/front-bridge would be made: ServiceAccountTemplate strimzi-kafkabridge for KafkaBridge front
  CHANGE   KEY                                  SET BY   VALUE
  added    label app.kubernetes.io/instance     -        "front"
  added    label app.kubernetes.io/managed-by   -        "strimzi-cluster-operator"
  added    label app.kubernetes.io/name         -        "kafka-bridge"
  added    label app.kubernetes.io/part-of      -        "strimzi-front"
  added    label strimzi.io/cluster             -        "front"
  added    label strimzi.io/component-type      -        "kafka-bridge"
  added    label strimzi.io/kind                -        "KafkaBridge"
  added    label strimzi.io/name                -        "front-bridge"
1 account, 1 would change: 1 made, 8 keys added
`,
		},
		{
			name: "what a component had that is off goes", objects: []string{connect1 + "spec: {}\n"},
			accounts: []string{
				account("", setBy("holdfast-serviceaccounts", "Apply", "{"+labelFields+"}")),
				"metadata: {name: shop-connect-build, namespace: a, " + owned + "}",
			},
			want: `a/shop-connect-build would be deleted: ServiceAccountTemplate strimzi-kafkaconnect for KafkaConnect shop
  why: the KafkaConnect shop does not have it now
2 accounts, 1 would change: 1 deleted
`,
		},
		{
			name:     "what nobody wants any more is given back",
			accounts: []string{byHandMade("note: hi", setBy("holdfast-serviceaccounts", "Apply", `{"f:annotations": {"f:note": {}}}`))},
			want: `a/shop-connect would be given back
  CHANGE    KEY               SET BY                                    VALUE
  removed   annotation note   holdfast-serviceaccounts (Apply) 3d ago   "hi"
  why: no object has it any more, and it was there before: what Holdfast has set on it goes
1 account, 1 would change: 1 given back, 1 key removed
`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := cluster(t, tt.configuration, tt.objects, tt.accounts)
			s.settings.StrimziOperator = tt.operator
			p := planOf(s, tt.template)
			for i := range p.Items {
				if p.Items[i].changesIdentity() {
					p.Items[i].Restart = tt.pods
				}
			}
			if diff := cmp.Diff(tt.want, printed(p, tt.all)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func printed(p *Plan, all bool) string {
	var out bytes.Buffer
	c := &client{&connect.Clients{Streams: ui.NewStreams(genericiooptions.IOStreams{Out: &out, ErrOut: &out})}}
	c.print(p, noon, all)
	return out.String()
}

// An account that nobody wants may be wanted by somebody whom nobody could ask.
func TestPlan_leavesAloneWhatItCannotTell(t *testing.T) {
	t.Parallel()
	s := cluster(t, "", nil, []string{account("note: hi", setBy("holdfast-serviceaccounts", "Apply", `{"f:annotations": {"f:note": {}}}`))})
	s.incomplete = true
	if p := planOf(s, ""); len(p.Items) > 0 {
		t.Errorf("got %+v, want nothing", p.Items)
	}
}

// The names of fields are what scripts read.
func TestPlan_json(t *testing.T) {
	t.Parallel()
	s := cluster(t, "", []string{connect1 + roleARN}, []string{
		account("eks.amazonaws.com/role-arn: arn:old", setBy("fabric8-kubernetes-client", "Update", "{"+labelFields+"}"), setBy("me", "Update", `{"f:annotations": {"f:eks.amazonaws.com/role-arn": {}}}`)),
	})
	s.settings.Existing, s.settings.From = configv1alpha1.ExistingApply, "defaults"
	p := planOf(s, "")
	p.Items[0].Keys = p.Items[0].Keys[8:]
	var out bytes.Buffer
	if err := ui.NewStreams(genericiooptions.IOStreams{Out: &out}).Encode(ui.YAML, p); err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: cli.holdfast.dev/v1alpha1
items:
- account: connect
  action: Write
  exists: true
  keys:
  - change: yielded
    field: annotation
    from: arn:old
    identity:
      meaning: the IAM role that the pods may assume
      provider: EKS
    key: eks.amazonaws.com/role-arn
    owners:
    - manager: me
      operation: Update
      time: "2026-11-18T12:00:00Z"
    to: arn:new
  - change: added
    field: annotation
    key: note
    to: hi
  name: shop-connect
  namespace: a
  object:
    group: kafka.strimzi.io
    kind: KafkaConnect
    name: shop
    version: v1
  template: strimzi-kafkaconnect
kind: ServiceAccountPlan
settings:
  existing: Apply
  from: defaults
  identities: Owned
  labelsExclusionPattern: (^app.kubernetes.io/(?!part-of).*|^kustomize.toolkit.fluxcd.io.*)
  mode: "Off"
  strimziOperator: false
summary:
  accounts: 1
  added: 1
  changed: 0
  changing: 1
  conflicts: 1
  created: 0
  deleted: 0
  errors: 0
  ownedOnly: 0
  released: 0
  removed: 0
  withheld: 0
  yielded: 1
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestKeeper(t *testing.T) {
	t.Parallel()
	s := cluster(t, "", []string{connect1 + roleARN}, []string{account("")})
	key := types.NamespacedName{Namespace: "a", Name: "shop-connect"}
	const want = "ServiceAccountTemplate strimzi-kafkaconnect for KafkaConnect shop"
	if got := s.keeperOf(s.accounts[key]); got == nil || got.String() != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if got := s.keeperOf(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "other"}}); got != nil {
		t.Errorf("got %v for an account that nobody wants", got)
	}
}

func TestKinds_of(t *testing.T) {
	t.Parallel()
	k := kinds{map[schema.GroupKind]kind{}, map[string]error{"broken.example.com": mapping.ErrClusterScoped}}
	k.read([]*metav1.APIResourceList{
		{GroupVersion: "example.com/v2", APIResources: []metav1.APIResource{{Name: "shops", Kind: "Shop", Namespaced: true}, {Name: "malls", Kind: "Mall"}}},
		{GroupVersion: "not/a/version"},
	})
	tests := []struct {
		name        string
		group, kind string
		version     string
		want        string
		fails       bool
	}{
		{name: "in the version that is preferred", group: "example.com", kind: "Shop", want: "example.com/v2, Resource=shops"},
		{name: "in the version that is asked for", group: "example.com", kind: "Shop", version: "v1", want: "example.com/v1, Resource=shops"},
		{name: "a kind that there is not", group: "example.com", kind: "Bank"},
		{name: "a kind without a namespace", group: "example.com", kind: "Mall", fails: true},
		{name: "a kind of which nobody can tell", group: "broken.example.com", kind: "Shop", fails: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, found, err := k.of(&mapping.Mapping{Source: schema.GroupKind{Group: tt.group, Kind: tt.kind}, Version: tt.version})
			if found != (tt.want != "") || found && got.String() != tt.want || (err != nil) != tt.fails {
				t.Errorf("got %v, %v, %v", got, found, err)
			}
		})
	}
}
