// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
)

// noRequest has the reason why the table has no request for a webhook or a policy.
var noRequest = map[string]string{
	"namespacelabel.hnc.x-k8s.io": "it sets a label, and refuses nothing",

	"restored-namespaces.hnc.x-k8s.io": "it removes labels, and refuses nothing",
	"restored-objects.hnc.x-k8s.io":    "it changes labels and annotations, and refuses nothing",
	"marks.holdfast.dev":               "it sets labels back, and refuses nothing",
	marks.PolicyName:                   "it refuses while no replica of Holdfast answers: TestOutage of internal/deletion",
	"other-namespaces.hnc.x-k8s.io":    "it asks the same as namespaces.hnc.x-k8s.io, for the moment before the tree of a namespace shows",
}

type rig struct {
	*testkit.Env
	log   *auditlog.Log
	asked int
}

// The same is asked in mode Enforce and in mode Audit. What the one refuses the other
// lets pass, and reports under the same keys.
func TestVerdicts_enforcedAndObserved(t *testing.T) {
	t.Parallel()
	r := &rig{}
	r.Env = everything(t, &r.log, auditv1.PolicyRule{Level: auditv1.LevelMetadata, Verbs: []string{"create", "update", "patch", "delete"}})
	prepare(t, r.Env)
	r.complete(t)

	enforced, observed := map[string]string{}, map[string]string{}
	for _, q := range requests() {
		enforced[q.name] = r.eventually(t, q, q.by != "" && !q.warns)
	}
	configure(t, r.Env, "Audit")
	for _, q := range requests() {
		observed[q.name] = r.eventually(t, q, q.always)
	}
	if diff := cmp.Diff(enforced, observed); diff != "" {
		t.Errorf("what the audit log has (-Enforce +Audit)\n%s", diff)
	}
	for _, q := range requests() {
		if (q.by == "") != (enforced[q.name] == "") {
			t.Errorf("%s: the audit log has %q", q.name, enforced[q.name])
		}
	}
	t.Run("metrics", r.counted)
	t.Run("events", r.told)
}

// complete holds the table against what Holdfast has in the API server.
func (r *rig) complete(t *testing.T) {
	t.Helper()
	by := map[string]bool{}
	for _, q := range requests() {
		by[q.by] = true
	}
	ours := client.MatchingLabels{admission.ManagedByLabel: admission.ManagedByValue}
	var policies admissionregistrationv1.ValidatingAdmissionPolicyList
	var validating admissionregistrationv1.ValidatingWebhookConfigurationList
	var mutating admissionregistrationv1.MutatingWebhookConfigurationList
	for _, list := range []client.ObjectList{&policies, &validating, &mutating} {
		if err := r.Client.List(t.Context(), list, ours); err != nil {
			t.Fatal(err)
		}
	}
	var have []string
	for _, p := range policies.Items {
		have = append(have, p.Name)
	}
	for _, c := range validating.Items {
		for _, w := range c.Webhooks {
			have = append(have, w.Name)
		}
	}
	for _, c := range mutating.Items {
		for _, w := range c.Webhooks {
			have = append(have, w.Name)
		}
	}
	for _, name := range have {
		if !by[name] && noRequest[name] == "" {
			t.Errorf("no request in the table has %s refuse it", name)
		}
	}
	for name := range by {
		if name != "" && !slices.Contains(have, name) {
			t.Errorf("a request is to be refused by %s, which is not there", name)
		}
	}
}

// as is a client whose requests can be found in the audit log.
func (r *rig) as(t *testing.T, q request) (c client.Client, agent string) {
	t.Helper()
	r.asked++
	config := rest.CopyConfig(r.Config)
	config.UserAgent = fmt.Sprintf("observe-%d", r.asked)
	if !q.admin {
		config.Impersonate = rest.ImpersonationConfig{UserName: editor}
	}
	c, err := client.New(config, client.Options{Scheme: r.Client.Scheme(), Mapper: r.Client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return c, config.UserAgent
}

// eventually asks, as a dry run, until it is refused or is not, for a configuration
// takes a moment to be in force. It returns what the audit log then has by the policy
// or webhook of the request, and of a request that nobody minds by anybody.
func (r *rig) eventually(t *testing.T, q request, refused bool) (found string) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() string {
		c, agent := r.as(t, q)
		err := q.do(t.Context(), client.NewDryRunClient(c))
		if (err != nil) != refused {
			return fmt.Sprintf("it was answered with %v", err)
		}
		if found = r.audited(t, agent, q.by); q.by != "" && found == "" {
			return "the audit log has nothing of it"
		}
		return ""
	}, "180s", "300ms").Should(gomega.BeEmpty(), "%s: want it refused: %t", q.name, refused)
	return found
}

// failure is a part of what the API server writes of policies.
type failure struct{ Policy, Message string }

// audited is what the audit log has, by somebody or by all, of the request of an
// agent.
func (r *rig) audited(t *testing.T, agent, by string) string {
	t.Helper()
	var out []string
	for _, a := range r.annotations(t, agent) {
		var failures []failure
		if text, ok := a[admission.PolicyAuditKey]; ok {
			if err := json.Unmarshal([]byte(text), &failures); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range failures {
			out = append(out, f.Policy+": "+f.Message)
		}
		for key, text := range a {
			if name, ours := strings.CutSuffix(key, "/"+admission.AuditRefusal); ours {
				out = append(out, name+": "+text)
			}
		}
	}
	out = slices.DeleteFunc(out, func(line string) bool { return by != "" && !strings.HasPrefix(line, by+": ") })
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "\n")
}

func (r *rig) annotations(t *testing.T, agent string) (out []map[string]string) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() int {
		events, err := r.log.Events()
		if err != nil {
			t.Fatal(err)
		}
		out = nil
		for _, e := range events {
			if e.UserAgent == agent {
				out = append(out, e.Annotations)
			}
		}
		return len(out)
	}, "180s", "50ms").ShouldNot(gomega.BeZero(), "the request is not logged")
	return out
}

// counted holds that metrics tell both of what was refused and of what passed.
func (r *rig) counted(t *testing.T) {
	clientset, err := kubernetes.NewForConfig(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	text, err := clientset.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	checks := families["apiserver_validating_admission_policy_check_total"]
	refusals := scrape(t, r.Manager)["holdfast_webhook_refusals_total"]
	for _, q := range requests() {
		switch {
		case q.by == "":
		case strings.Contains(q.by, "."):
			modes := []string{"Enforce", "Audit"}
			if q.always {
				modes = modes[:1]
			}
			for _, mode := range modes {
				if sum(refusals, map[string]string{"webhook": q.by, "mode": mode}) == 0 {
					t.Errorf("%s: %s has counted nothing in mode %s", q.name, q.by, mode)
				}
			}
		default:
			actions := []string{"deny", "audit"}
			switch {
			case q.always:
				actions = actions[:1]
			case q.warns:
				actions = []string{"warn", "audit"}
			}
			for _, action := range actions {
				if sum(checks, map[string]string{"policy": q.by, "enforcement_action": action}) == 0 {
					t.Errorf("%s: the API server has counted no %s by %s", q.name, action, q.by)
				}
			}
		}
	}
}

func sum(f *dto.MetricFamily, want map[string]string) (out float64) {
	for _, m := range f.GetMetric() {
		have := map[string]string{}
		for _, l := range m.GetLabel() {
			have[l.GetName()] = l.GetValue()
		}
		maps.DeleteFunc(have, func(name, _ string) bool { _, asked := want[name]; return !asked })
		if maps.Equal(have, want) {
			out += m.GetCounter().GetValue()
		}
	}
	return out
}

// told holds that in mode Audit what passes by webhooks is told by Events. No dry run
// is, so all is done now.
func (r *rig) told(t *testing.T) {
	want := map[string]bool{}
	for _, q := range requests() {
		if q.about == "" {
			continue
		}
		want[q.about] = true
		c, _ := r.as(t, q)
		if err := q.do(t.Context(), c); err != nil {
			t.Errorf("%s: it is refused: %v", q.name, err)
		}
	}
	gomega.NewWithT(t).Eventually(func() map[string]bool {
		out := r.Kubectl(t, "get", "events", "-A", "--field-selector", "reason="+v1alpha1.ReasonWouldRefuse,
			"-o", `jsonpath={range .items[*]}{.involvedObject.name}{" "}{.message}{"\n"}{end}`)
		got := map[string]bool{}
		for line := range strings.Lines(out.Stdout) {
			if name, note, _ := strings.Cut(line, " "); strings.HasPrefix(note, "mode Enforce would refuse this to "+editor+": ") {
				got[name] = true
			}
		}
		return got
	}, "180s", "500ms").Should(gomega.Equal(want), "what Events are about")
}
