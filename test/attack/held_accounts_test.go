// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// accounts are attempts of kcuser, who may do everything with KafkaConnects in shop.
var accounts = []scenario{
	{104, "a KafkaConnect with the stamp of an override", func(r *rig) {
		const stamped = "kafkaconnect stamped -n {shop}"
		r.do("kcuser", "create -f -", connect("stamped", "", "labels: {"+protected+"}"))
		before := r.state(stamped)
		r.do("kcuser", `label kafkaconnect stamped -n {shop} holdfast.dev/deletion-override=mine holdfast.dev/marked=`+string(before.UID), "")
		r.same(stamped, before)
		if out := r.as("kcuser", "delete kafkaconnect stamped -n {shop}", ""); !strings.Contains(out.Stderr, isProtected) {
			r.T.Errorf("delete ended with %d: %s", out.Code, out.Stderr)
		}
		r.same(stamped, before)
	}},
	{105, "a template with another namespace and the name default", func(r *rig) {
		mine, theirs := r.state("sa default -n {shop}"), r.state("sa default -n {other}")
		r.do("kcuser", "create -f -", connect("elsewhere", `namespace: "{other}", name: default, labels: {team: mine}`, ""))
		r.See(`sa elsewhere-connect -n {shop} -o jsonpath={.metadata.labels.team}`, "mine")
		r.same("sa default -n {shop}", mine)
		r.same("sa default -n {other}", theirs)
		r.See("sa elsewhere-connect -n {other} -o name", "")
	}},
	{106, "a template with keys of Holdfast and of HNC", func(r *rig) {
		for name, key := range map[string]string{
			"overridden": "holdfast.dev/deletion-override", "marked": "holdfast.dev/marked", "inherited": "hnc.x-k8s.io/inherited-from", "labelled": "holdfast.dev/deletion-protected",
		} {
			r.do("kcuser", "create -f -", connect(name, "labels: {"+key+`: "{other}"}, annotations: {`+key+`: "{other}"}`, ""))
			r.failed(name, key)
			r.Expect(r.get("sa " + name + "-connect -n {shop} -o jsonpath={.metadata.labels}{.metadata.annotations}")).NotTo(gomega.ContainSubstring(key))
		}
	}},
}

// connects keep what their template has besides labels and annotations.
const connects = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: kafkaconnects.kafka.strimzi.io}, spec: {group: kafka.strimzi.io, scope: Namespaced,
  names: {plural: kafkaconnects, singular: kafkaconnect, kind: KafkaConnect}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`

func connect(name, template, meta string) string {
	return `{apiVersion: kafka.strimzi.io/v1, kind: KafkaConnect, metadata: {name: ` + name + `, namespace: "{shop}", ` + meta + `}, spec: {template: {serviceAccount: {metadata: {` + template + `}}}}}`
}

// failed waits for the Event that an account is not written, because of a key.
func (r *rig) failed(name, key string) {
	r.T.Helper()
	r.Eventually(func() string {
		return r.get("events.events.k8s.io -n {shop} --field-selector reason=ServiceAccountFailed,regarding.name=" + name + " -o jsonpath={.items[*].note}")
	}, story.Patience, story.Slower).Should(gomega.ContainSubstring(key))
}

func TestHeld_accounts(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.do("", "apply --server-side --field-manager=kubectl --force-conflicts -f -", connects)
	r.cast("kcuser")
	for _, in := range []string{"{shop}", "{other}"} {
		r.See("sa default -n "+in+" -o name", "serviceaccount/default\n")
	}
	r.play(accounts)
}
