// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit/aggregated"
)

// aggregates has a RootSync declare objects of an API that another server serves, which comes
// after them, and an APIService whose server never comes: neither stops anything else.
func (l *ledger) aggregates() {
	const group = string(aggregated.WithoutAdmission)
	flunder := "apiVersion: " + group + "/v1\nkind: Flunder\nmetadata: {name: one, namespace: \"{ag}\"}\nspec: {text: declared}\n---\n"
	commit := l.commit("ag", "x.yaml", ns("ag")+flunder+cm("ag", "one", "1"))
	l.sync("ag")
	l.says("ag", "KNV1021: ")
	l.value("ag/one", "1")
	l.t.Run("with its server", func(t *testing.T) {
		l := l.on(t)
		aggregated.Start(t, l.Env, aggregated.WithoutAdmission)
		l.synced("ag", commit)
		l.Expect(l.Kubectl(t, "get", aggregated.Resource+"."+group, "one", "-n", l.name("ag"), "-o", "jsonpath={.spec.text}").Stdout).To(gomega.Equal("declared"))
		l.synced("ag", l.commit("ag", "x.yaml", ns("ag")+cm("ag", "one", "2")))
	})

	service := "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.nowhere.example.org}\n" +
		"spec: {group: nowhere.example.org, version: v1, groupPriorityMinimum: 1000, versionPriority: 15, service: {namespace: \"{ag}\", name: nowhere}}\n---\n"
	l.spec("ag", `{"override":{"reconcileTimeout":"3s"}}`)
	l.commit("ag", "x.yaml", ns("ag")+service+cm("ag", "one", "3")+cm("ag", "two", "3"))
	l.value("ag/two", "3")
	l.delete("cm", "ag/one")
	l.value("ag/one", "3")
	l.synced("ag", l.commit("ag", "x.yaml", ns("ag")+cm("ag", "one", "4")))
	l.value("ag/one", "4")
	l.Expect(l.Kubectl(l.t, "get", "apiservice", "v1.nowhere.example.org", "--ignore-not-found", "-o", "name").Stdout).To(gomega.BeEmpty())
}
