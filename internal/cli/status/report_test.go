// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// read makes a list of YAML documents.
func read[T any](t *testing.T, texts ...string) (list []T) {
	t.Helper()
	for _, text := range texts {
		var one T
		if err := yaml.UnmarshalStrict([]byte(text), &one); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		list = append(list, one)
	}
	return list
}

// named are the metadata of an object, and its status.
func named(namespace, name, status string) string {
	return fmt.Sprintf("{metadata: {namespace: %q, name: %s}, status: %s}", namespace, name, status)
}

// ready is a condition.
func ready(status string) string {
	return "conditions: [{type: Ready, status: '" + status + "', reason: R, message: m, lastTransitionTime: null}]"
}

func TestReport(t *testing.T) {
	t.Parallel()
	l := &looked{
		holdfast: &read[v1alpha1.Holdfast](t, named("", "holdfast", `{version: '1', features: [{name: deletion, mode: Enforce}, {name: hierarchy, mode: 'Off'}],
			conditions: [{type: Ready, status: 'False', reason: R, message: m, lastTransitionTime: null}, {type: CertificateValid, status: 'False', reason: Expired, message: it has ended, lastTransitionTime: null}]}`))[0],
		protections: read[v1alpha1.ResourceDeletionProtection](t, named("", "a", "{matches: {total: 3}, "+ready("True")+"}"), named("", "b", "{matches: {total: 4}, "+ready("False")+"}")),
		overrides:   read[v1alpha1.DeletionOverride](t, named("", "a", "{phase: Active}"), named("", "b", "{phase: Pending}"), named("", "c", "{phase: Active}"), named("", "d", "{}")),
		policies:    read[v1alpha1.EvictionPolicy](t, named("", "a", "{waiting: 2, "+ready("True")+"}"), named("", "b", "{waiting: 1, "+ready("True")+"}")),
		hierarchies: read[hncv1alpha2.HierarchyConfiguration](t, named("acme", "hierarchy", "{}"), named("lost", "hierarchy", "{conditions: [{type: BadConfiguration, status: 'True', reason: R, message: m, lastTransitionTime: null}]}")),
		anchors:     read[hncv1alpha2.SubnamespaceAnchor](t, named("acme", "team", "{status: Ok}"), named("acme", "other", "{status: Conflict}")),
		syncs: read[configsyncv1beta1.RootSync](t,
			named("s", "new", "{}"), named("s", "older", "{}")),
		templates: read[v1alpha1.ServiceAccountTemplate](t, named("", "a", "{accounts: 5, pending: 1, conflicts: 2}"), named("", "b", "{errors: 1}")),
		problems:  []string{"you may not list something"},
		home:      errors.New("the namespace of RootSyncs is in a tree"),
	}
	want := `1 False
! CertificateValid: Expired: it has ended
! the namespace of RootSyncs is in a tree
! you may not list something
deletion Enforce 2 ResourceDeletionProtections select 7 objects; 1 of them do not protect all that they select: b; 2 DeletionOverrides active; 1 DeletionOverrides pending
eviction  2 EvictionPolicies, for which 3 pods wait
hierarchy Off 2 HierarchyConfigurations, 2 SubnamespaceAnchors; 1 namespaces have conditions: lost; 1 anchors have no subnamespace: acme/other
rootSync  2 RootSyncs, of which 0 are synced; 2 pending: new, older
serviceAccounts  2 ServiceAccountTemplates, for 5 accounts; 1 accounts would be written; 2 accounts about which others have their say; 1 accounts that cannot be kept`
	if diff := cmp.Diff(want, brief(l.report())); diff != "" {
		t.Error(diff)
	}
	l.guardSilent, l.syncSilent = "no replica of the guard leads", "no replica of the sync leads"
	if diff := cmp.Diff("1 Unknown\n! CertificateValid: Expired: it has ended\n! no replica of the guard leads\n! no replica of the sync leads\n"+
		strings.TrimPrefix(want, "1 False\n! CertificateValid: Expired: it has ended\n"), brief(l.report())); diff != "" {
		t.Errorf("where no replica leads: %s", diff)
	}
	gone := &looked{guardSilent: "no replica of the guard leads", syncSilent: "no replica of the sync leads"}
	if diff := cmp.Diff(" Unknown", brief(gone.report())); diff != "" {
		t.Errorf("where it was removed, and leases are left: %s", diff)
	}
	if diff := cmp.Diff(" Unknown", brief((&looked{}).report())); diff != "" {
		t.Errorf("where nothing is there: %s", diff)
	}
}

func TestFew(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]string{"a": "a", "a b c": "a, b, c", "a b c d e": "a, b, c and 2 more"} {
		if got := few(strings.Fields(names)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// brief is a report in a few lines: those of features that say something.
func brief(r *Report) string {
	out := []string{r.Version + " " + string(r.Ready)}
	for _, p := range r.Problems {
		out = append(out, "! "+p)
	}
	for _, f := range r.Features {
		if f.Mode != "" || len(f.State) > 0 {
			out = append(out, strings.TrimSpace(f.Name+" "+f.Mode+" "+strings.Join(f.State, "; ")))
		}
	}
	return strings.Join(out, "\n")
}
