// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// metricsAsSource has a RootSync read the metrics of the sync: who reads its status does not get them.
func metricsAsSource(r *rig) {
	r.rootSync("metrics", story.Syncs, fmt.Sprintf("repo: %s/metrics", r.Sync.Metrics), "")
	r.Eventually(func() string { return r.State("metrics") }, story.Patience, story.Often).Should(gomega.ContainSubstring("KNV2004"))
	r.Expect(r.get("rootsync {metrics} -n " + story.Syncs + " -o yaml")).NotTo(gomega.Or(
		gomega.ContainSubstring("# HELP"), gomega.ContainSubstring("go_goroutines")))
}

// inAnotherNamespace has a RootSync in shop, which nothing is applied of.
func inAnotherNamespace(r *rig) {
	for _, name := range []string{"abroad", "athome"} {
		r.Repo(name).Commit(r.T, map[string]string{"x.yaml": r.Long(cm("{shop}", "from-"+name))})
	}
	r.rootSync("abroad", "{shop}", "", "")
	r.rootSync("athome", story.Syncs, "", "")
	r.Eventually(func() string {
		return r.get("rootsync {abroad} -n {shop} -o jsonpath={.status.conditions[*].message}")
	}, story.Patience, story.Slower).Should(gomega.ContainSubstring("RootSync objects are only allowed in the config-management-system namespace"))
	r.See("cm from-athome -n {shop} -o name", "configmap/from-athome\n")
	for _, line := range []string{
		"cm from-abroad -n {shop} -o name",
		"rootsync {abroad} -n {shop} -o jsonpath={.metadata.finalizers}",
		"sa root-reconciler-{abroad} -n " + story.Syncs + " -o name",
	} {
		r.Expect(r.get(line)).To(gomega.BeEmpty(), line)
	}
}

// secretsShown looks for a token, and for a password in an address, in what others read: logs, metrics, Events, inventories and the
// arguments of processes; for the token in the statuses of RootSyncs and in what they apply, too, which name the address.
func secretsShown(r *rig) {
	const token, password = "s3cr3t-t0ken", "s3cr3t-p4ssword"
	servers := map[string]*gitserver.Server{
		"tokened": gitserver.Start(r.T, gitserver.Options{Username: "me", Password: token}),
		"userinf": gitserver.Start(r.T, gitserver.Options{Username: "me", Password: password}),
	}
	r.do("", "create secret generic {login} -n "+story.Syncs+" --from-literal=username=me --from-literal=token="+token, "")
	repos := map[string]string{}
	for name, server := range servers {
		server.Repo(r.T, "r").Commit(r.T, map[string]string{"x.yaml": r.Long(cm("{shop}", "by-"+name))})
		repos[name] = server.Repo(r.T, "r").URL()
	}
	r.rootSync("tokened", story.Syncs, "repo: "+repos["tokened"]+`, auth: token, secretRef: {name: "{login}"}`, "")
	r.rootSync("userinf", story.Syncs, "repo: "+strings.Replace(repos["userinf"], "://", "://me:"+password+"@", 1), "")
	for name := range servers {
		r.See("cm by-"+name+" -n {shop} -o name", "configmap/by-"+name+"\n")
	}
	shown := func(what, text string, secrets ...string) {
		r.T.Helper()
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				r.T.Errorf("%s: %s is shown", what, secret)
			}
		}
	}
	for _, server := range servers {
		server.SetFault(gitserver.Fault{Stall: true})
		r.Eventually(server.Stalled, story.Patience, story.Often).Should(gomega.BeNumerically(">", 0))
		shown("the arguments of processes", arguments(r.T), token, password)
		server.SetFault(gitserver.Fault{Status: http.StatusForbidden})
	}
	for name := range servers {
		r.Eventually(func() string { return r.State(name) }, story.Patience, story.Often).Should(gomega.ContainSubstring("KNV2004"))
	}
	for what, line := range map[string]string{
		"the inventories":        "resourcegroups.kpt.dev -n " + story.Syncs + " -o yaml",
		"Events":                 "events.events.k8s.io -A -o yaml",
		"the status of Holdfast": "holdfasts -o yaml",
	} {
		shown(what, r.get(line), token, password)
	}
	shown("what is applied", r.get("cm -n {shop} -o yaml"), token)
	shown("the statuses of RootSyncs", r.get("rootsyncs -n "+story.Syncs+" -o yaml"), token)
	for what, file := range map[string]string{"the log of the sync": r.Sync.LogFile, "the log of the guard": r.Manager.LogFile} {
		text, err := os.ReadFile(file)
		r.Expect(err).NotTo(gomega.HaveOccurred())
		shown(what, string(text), token, password)
	}
	for what, url := range map[string]string{"the metrics of the sync": r.Sync.Metrics, "the metrics of the guard": r.Manager.Metrics} {
		shown(what, read(r.T, url+"/metrics"), token, password)
	}
}

// arguments are those of all processes, where the system shows them as files.
func arguments(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, file := range files {
		text, _ := os.ReadFile(file) // the process may have ended
		out.Write(append(text, '\n'))
	}
	return out.String()
}

func read(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
