// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const role = "eks.amazonaws.com/role-arn"

// TestStory_anEKSRoleReachesTheAccount is the story of seed 003: what a KafkaConnect
// says of its account's annotations reaches the account, changes with it and goes with
// it, and no token is made anew.
func TestStory_anEKSRoleReachesTheAccount(t *testing.T) {
	t.Parallel()
	r := shared(t)
	connect := func(annotations string) {
		r.apply("apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnect\nmetadata: {name: shop}\n" +
			"spec: {replicas: 1, template: {serviceAccount: {metadata: {labels: {team: shop}" + annotations + "}}}}\n")
	}
	connect("")
	made := r.becomes("shop-connect", "team=shop")
	wantOwner := []metav1.OwnerReference{{
		APIVersion: "kafka.strimzi.io/v1", Kind: "KafkaConnect", Name: "shop", UID: made.OwnerReferences[0].UID,
		Controller: new(false), BlockOwnerDeletion: new(true),
	}}
	if diff := cmp.Diff(wantOwner, made.OwnerReferences); diff != "" {
		t.Errorf("owner (-want +got):\n%s", diff)
	}
	wantLabels := map[string]string{
		"strimzi.io/kind": "KafkaConnect", "strimzi.io/name": "shop-connect", "strimzi.io/cluster": "shop", "strimzi.io/component-type": "kafka-connect",
		"app.kubernetes.io/name": "kafka-connect", "app.kubernetes.io/instance": "shop", "app.kubernetes.io/part-of": "strimzi-shop",
		"app.kubernetes.io/managed-by": "strimzi-cluster-operator", "team": "shop",
	}
	if diff := cmp.Diff(wantLabels, made.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	// A token as the token controller makes it, and what OpenShift adds.
	r.apply(`{apiVersion: v1, kind: Secret, metadata: {name: shop-token, annotations: {kubernetes.io/service-account.name: shop-connect}}, type: kubernetes.io/service-account-token}`)
	token := func() string {
		secret := &corev1.Secret{}
		secret.Namespace, secret.Name = r.namespace, "shop-token"
		r.Eventually(func() int {
			_ = r.Client.Get(t.Context(), clientKey(secret), secret)
			return len(secret.Data["token"])
		}).WithTimeout(patience).WithPolling(often).Should(gomega.BeNumerically(">", 0))
		return string(secret.UID) + string(secret.Data["token"])
	}
	before := token()
	r.update("shop-connect", func(a *corev1.ServiceAccount) {
		a.Secrets = []corev1.ObjectReference{{Name: "shop-token"}}
		a.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
		a.Annotations = map[string]string{"openshift.io/internal-registry-pull-secret-ref": "pull"}
	})

	connect(", annotations: {" + role + ": arn:one}")
	r.becomes("shop-connect", "team=shop @"+role+"=arn:one @openshift.io/internal-registry-pull-secret-ref=pull")
	connect(", annotations: {" + role + ": arn:two}")
	now := r.becomes("shop-connect", "team=shop @"+role+"=arn:two @openshift.io/internal-registry-pull-secret-ref=pull")
	if now.UID != made.UID || len(now.Secrets) != 1 || len(now.ImagePullSecrets) != 1 {
		t.Errorf("the account lost something: %+v", now)
	}
	connect("")
	r.becomes("shop-connect", "team=shop @openshift.io/internal-registry-pull-secret-ref=pull")
	if after := token(); after != before {
		t.Error("there is a new token")
	}
	r.kubectl("delete", "kafkaconnect", "shop", "-n", r.namespace)
	r.becomes("shop-connect", "none")
}

func TestDrift_isPutBackAtOnce(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.apply("apiVersion: kafka.strimzi.io/v1\nkind: KafkaBridge\nmetadata: {name: front}\n" +
		"spec: {template: {serviceAccount: {metadata: {labels: {team: shop}, annotations: {a: b}}}}}\n")
	r.becomes("front-bridge", "team=shop @a=b")
	r.kubectl("annotate", "serviceaccount", "front-bridge", "-n", r.namespace, "a-")
	r.becomes("front-bridge", "team=shop @a=b")
	r.kubectl("label", "serviceaccount", "front-bridge", "-n", r.namespace, "mine=too")
	r.becomes("front-bridge", "mine=too team=shop @a=b")
	r.kubectl("annotate", "serviceaccount", "front-bridge", "-n", r.namespace, "a=theirs", "--overwrite")
	r.saidOf("KafkaBridge", "front", ReasonConflict, "annotation a")
	r.becomes("front-bridge", "mine=too team=shop @a=theirs")
	r.kubectl("delete", "serviceaccount", "front-bridge", "-n", r.namespace)
	r.becomes("front-bridge", "team=shop @a=b")
}

func TestComponents_comeAndGo(t *testing.T) {
	t.Parallel()
	r := shared(t)
	kafka := func(spec string) {
		r.apply("apiVersion: kafka.strimzi.io/v1\nkind: Kafka\nmetadata: {name: k}\nspec: {" + spec + "}\n")
	}
	kafka("kafka: {}, entityOperator: {topicOperator: {}}, cruiseControl: {template: {serviceAccount: {metadata: {annotations: {cc: yes-please}}}}}, kafkaExporter: {}")
	for name, want := range map[string]string{"k-kafka": "", "k-entity-operator": "", "k-cruise-control": "@cc=yes-please", "k-kafka-exporter": ""} {
		r.becomes(name, want)
	}
	kafka("kafka: {}, entityOperator: {template: {pod: {}}}")
	for _, name := range []string{"k-entity-operator", "k-cruise-control", "k-kafka-exporter"} {
		r.becomes(name, "none")
	}
	r.becomes("k-kafka", "")
	kafka("kafka: {}, cruiseControl: {}")
	r.becomes("k-cruise-control", "")
}

// TestBatch is Strimzi's testBatchReconciliation: one edit by which one account goes, one
// changes and one comes.
func TestBatch_oneGoesOneChangesAndOneComes(t *testing.T) {
	t.Parallel()
	r := shared(t)
	kafka := func(spec string) {
		r.apply("apiVersion: kafka.strimzi.io/v1\nkind: Kafka\nmetadata: {name: k}\nspec: {" + spec + "}\n")
	}
	kafka("kafka: {}, kafkaExporter: {}")
	r.becomes("k-kafka-exporter", "")
	before := r.becomes("k-kafka", "")
	kafka("kafka: {template: {serviceAccount: {metadata: {labels: {team: shop}}}}}, cruiseControl: {}")
	r.becomes("k-kafka-exporter", "none")
	r.becomes("k-cruise-control", "")
	if now := r.becomes("k-kafka", "team=shop"); now.UID != before.UID {
		t.Error("it was made anew")
	}
}

func TestRemovedKinds_areKeptWhereTheyAre(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.apply("apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaMirrorMaker\nmetadata: {name: old}\nspec: {template: {serviceAccount: {metadata: {annotations: {a: b}}}}}\n")
	r.becomes("old-mirror-maker", "@a=b")
	r.apply("apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaMirrorMaker2\nmetadata: {name: new}\nspec: {template: {serviceAccount: {metadata: {annotations: {a: b}}}}}\n")
	if got := r.becomes("new-mirrormaker2", "@a=b"); got.OwnerReferences[0].APIVersion != "kafka.strimzi.io/v1" {
		t.Errorf("the owner is of version %s, want the one that the API server prefers", got.OwnerReferences[0].APIVersion)
	}
}

// TestHandMade accounts are the seed's second kind of user: those who made the account
// first, with what they needed on it.
func TestHandMade_accountsKeepWhatPeopleHaveSet(t *testing.T) {
	t.Parallel()
	r := shared(t)
	made := r.makeAccount("shop-connect", map[string]string{"team": "shop"}, map[string]string{role: "arn:by-hand", "mine": "too"})
	r.apply("apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnect\nmetadata: {name: shop}\n" +
		"spec: {template: {serviceAccount: {metadata: {annotations: {" + role + ": arn:by-template, other: x}}}}}\n")
	got := r.becomes("shop-connect", "team=shop @"+role+"=arn:by-hand @mine=too @other=x")
	if got.UID != made.UID || len(got.OwnerReferences) > 0 {
		t.Errorf("it is not the one that was made, or has an owner: %+v", got.ObjectMeta)
	}
	r.saidOf("KafkaConnect", "shop", ReasonConflict, "does not own the account shop-connect, so it cannot change what pods of that may do: withheld annotation "+role)
	r.kubectl("delete", "kafkaconnect", "shop", "-n", r.namespace)
	r.becomes("shop-connect", "team=shop @"+role+"=arn:by-hand @mine=too")
}

func TestAnotherTeamsAccount_isRefused(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owner}\n")
	owner := &corev1.ConfigMap{}
	owner.Namespace, owner.Name = r.namespace, "owner"
	if err := r.Client.Get(t.Context(), clientKey(owner), owner); err != nil {
		t.Fatal(err)
	}
	r.makeAccount("payment-connect", nil, nil)
	before := r.update("payment-connect", func(a *corev1.ServiceAccount) {
		a.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID}}
	})
	r.apply("apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnect\nmetadata: {name: payment}\n" +
		"spec: {template: {serviceAccount: {metadata: {annotations: {" + role + ": arn:mine}}}}}\n")
	r.saidOf("KafkaConnect", "payment", ReasonConflict, "it belongs to the ConfigMap owner")
	same(t, before, r.account("payment-connect"))
}

func TestMistakes_areToldAndStopNothingElse(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.apply("apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnect\nmetadata: {name: bad, labels: {strimzi.io/custom: x}}\nspec: {}\n")
	r.saidOf("KafkaConnect", "bad", ReasonFailed, "Labels starting with strimzi.io/ are not allowed in Custom Resources, such labels should be removed.")
	r.fence("after")
	if got := r.custom("bad-connect"); got != "none" {
		t.Errorf("got %q, want no account", got)
	}
	r.kubectl("label", "kafkaconnect", "bad", "-n", r.namespace, "strimzi.io/custom-")
	r.becomes("bad-connect", "")
}

func TestScope_entersAndLeaves(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.kubectl("label", "namespace", r.namespace, "accounts-")
	r.apply("apiVersion: kafka.strimzi.io/v1\nkind: KafkaBridge\nmetadata: {name: b}\nspec: {}\n")
	shared(t).fence("elsewhere")
	if got := r.custom("b-bridge"); got != "none" {
		t.Errorf("out of scope: got %q, want no account", got)
	}
	r.label("accounts=kept")
	r.becomes("b-bridge", "")
}

// The status of a template counts what is in scope, and no more.
func TestScope_counts(t *testing.T) {
	t.Parallel()
	r, other := shared(t), shared(t)
	group := r.kind("Shop")
	other.kubectl("label", "namespace", other.namespace, "accounts-")
	for _, in := range []*rig{r, other} {
		in.apply("apiVersion: " + group + "/v1\nkind: Shop\nmetadata: {name: s}\nspec: {n: 1}\n")
	}
	r.template(r.namespace, "  source: {group: "+group+`, kind: Shop}
  accounts: [{id: front, name: "${self.metadata.name}-front", ownerReference: {}}]
`)
	r.says(r.namespace, "InForce 1/1/0/0/0")
	other.label("accounts=kept")
	r.says(r.namespace, "InForce 2/2/0/0/0")
	other.kubectl("label", "namespace", other.namespace, "accounts-")
	r.says(r.namespace, "InForce 1/1/0/0/0")
}
