// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// floods are many of something, less than the review had of it.
var floods = []scenario{
	{107, "1000 references to owners on a protected pod", manyOwners},
	{108, "a Namespace with 500 labels of 300 bytes", manyLabels},
	{109, "50 protected objects that the garbage collector is to delete", manyOrphans},
	{110, "60 slow connections to the webhooks", slowConnections},
}

func TestHeld_floods(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.cast("ed", "wide")
	r.play(floods)
}

// listed is a JSON list of n items, in each of which N is its number.
func listed(n int, item string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.ReplaceAll(item, "N", fmt.Sprintf("%04d", i))
	}
	return strings.Join(items, ",")
}

// manyOwners makes the expressions of the policies as expensive as a tenant can. An administrator unprotects the pod all the same.
func manyOwners(r *rig) {
	const pod = "pod owned -n {shop}"
	r.do("ed", "create -f -", replaced(fixtures["pod"], "NAME", "owned"))
	before := r.state(pod)
	owners := `{"metadata":{"ownerReferences":[` + listed(1000, `{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"`+anotherUID+`"}`) + "]}}"
	for _, user := range []string{"ed", "wide"} {
		out := r.as(user, "patch pod owned -n {shop} --type=merge -p "+owners, "")
		r.Expect(out.Stderr).To(gomega.ContainSubstring("'holdfast-deletion-"), out.Stdout)
		r.same(pod, before)
	}
	// Somebody who may unprotect has done it.
	r.do("", "patch pod owned -n {shop} --type=merge -p "+owners, "")
	before = r.state(pod)
	r.tried("generic-garbage-collector", "pods", "owned")
	for _, line := range []string{"delete pod owned -n {shop}", "label pod owned -n {shop} holdfast.dev/deletion-protected-"} {
		r.Expect(r.as("ed", line, "").Code).NotTo(gomega.BeZero(), line)
	}
	r.same(pod, before)
	r.do("", "label pod owned -n {shop} holdfast.dev/deletion-protected-", "")
	r.See(pod+" -o name", "")
}

// manyLabels locks nobody out.
func manyLabels(r *rig) {
	const space = "ns {large}"
	r.do("", "create -f -", namespace("{large}"))
	labels := `{"metadata":{"labels":{` + listed(500, `"`+strings.Repeat(strings.Repeat("a", 60)+".", 4)+`b/kN":"`+strings.Repeat("v", 60)+`"`) + "}}}"
	r.do("wide", "patch ns {large} --type=merge -p "+labels, "")
	r.do("wide", "label ns {large} holdfast.dev/deletion-protected=Always", "")
	before := r.state(space)
	for _, line := range []string{"delete ns {large} --wait=false", "label ns {large} holdfast.dev/deletion-protected-", `patch ns {large} --type=merge -p {"metadata":{"labels":null}}`} {
		r.Expect(r.as("wide", line, "").Code).NotTo(gomega.BeZero(), line)
	}
	r.same(space, before)
	r.do("wide", "label ns {large} another=label", "")
	r.do("", "label ns {large} holdfast.dev/deletion-protected-", "")
	r.do("wide", "delete ns {large} --wait=false", "")
}

// manyOrphans do not keep the garbage collector from others.
func manyOrphans(r *rig) {
	orphan := func(name, labels string) string {
		return `{apiVersion: v1, kind: ConfigMap, metadata: {name: ` + name + `, namespace: "{shop}", labels: {orphan: "yes", ` + labels + `}, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: none, uid: ` + anotherUID + "}]}}\n---\n"
	}
	var all strings.Builder
	for i := range 50 {
		all.WriteString(orphan(fmt.Sprintf("orphan-%d", i), protected))
	}
	r.do("ed", "create -f -", all.String())
	uids := func() string {
		return r.get("cm -n {shop} -l orphan -o jsonpath={.items[*].metadata.uid}{.items[*].metadata.deletionTimestamp}")
	}
	before := uids()
	for i := range 50 {
		r.tried("generic-garbage-collector", "configmaps", fmt.Sprintf("orphan-%d", i))
	}
	r.do("ed", "create -f -", orphan("loose", ""))
	r.See("cm loose -n {shop} -o name", "")
	r.Expect(strings.Fields(before)).To(gomega.HaveLen(50))
	r.Expect(uids()).To(gomega.Equal(before))
}

// slowConnections hold the webhooks up for nobody else.
func slowConnections(r *rig) {
	r.Apply(namespace("{free}") + namespace("{full}") + `{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: "{full}", labels: {` + protected + `}}}`)
	address := strings.TrimPrefix(r.Manager.Webhooks, "https://")
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Minute}, Config: &tls.Config{InsecureSkipVerify: true}}
	for range 60 {
		conn, err := dialer.DialContext(r.T.Context(), "tcp", address)
		if err != nil {
			r.T.Fatal(err)
		}
		r.T.Cleanup(func() { _ = conn.Close() })
		if _, err := fmt.Fprintf(conn, "POST /confirm-deletion HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 6000000\r\n\r\n{%s", address, strings.Repeat(" ", 64<<10)); err != nil {
			r.T.Logf("a connection ends early: %v", err)
		}
	}
	for range 5 {
		answer := func(name string) func() string {
			return func() string { return r.as("", "delete ns "+name+" --dry-run=server", "").Stderr } // on a busy machine not in time
		}
		r.Eventually(answer("{free}"), story.Patience, story.Slower).Should(gomega.BeEmpty())
		r.Eventually(answer("{full}"), story.Patience, story.Slower).Should(gomega.ContainSubstring("configmaps/kept"))
	}
}
