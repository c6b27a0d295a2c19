// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// refusal is all that the API server answers to the DELETE of a ConfigMap that the label protects.
func refusal(ns, name string) string {
	return fmt.Sprintf("configmaps %[2]q is forbidden: ValidatingAdmissionPolicy 'holdfast-deletion-holdfast' with binding 'holdfast-deletion-holdfast' "+
		"denied request: configmaps/%[2]s is protected from deletion by the label holdfast.dev/deletion-protected. "+
		"Whoever holds the right to unprotect it can run: kubectl label configmaps/%[2]s -n %[1]s holdfast.dev/deletion-protected-", ns, name)
}

// fluxError is what Flux reports of a prune that is refused.
func fluxError(ns string) string {
	return fmt.Sprintf("delete failed, errors: ConfigMap/%s/protected delete failed: %s;", ns, refusal(ns, "protected"))
}

// A commit changes one ConfigMap and removes two others, of which one is protected.
func TestPrune_aRefusalIsReportedAndDeletesNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		setup
		// first is what the tool reports of the first sync of the commit, and again of each later one.
		first, again func(ns string) report
		// stored are the objects after these syncs, and freed those after a sync once the label is removed.
		stored, freed []string
	}{
		{
			setup: setup{name: "Flux applies the change and reports the refusal in each sync", make: flux{}.begin},
			first: func(ns string) report {
				return report{Objects: map[string]string{"changed": "configured", "protected": "unknown", "pruned": "deleted"}, Error: fluxError(ns)}
			},
			again: func(ns string) report {
				return report{Objects: map[string]string{"changed": "unchanged", "protected": "unknown"}, Error: fluxError(ns)}
			},
			stored: []string{"changed=2", "protected=1"},
			freed:  []string{"changed=2"},
		},
		{
			setup: setup{name: "an older Flux applies the change, reports the refusal once, and never prunes the object", make: flux{forgets: true}.begin},
			first: func(ns string) report {
				return report{Objects: map[string]string{"changed": "configured", "protected": "unknown", "pruned": "deleted"}, Error: fluxError(ns)}
			},
			again:  func(string) report { return report{Objects: map[string]string{"changed": "unchanged"}} },
			stored: []string{"changed=2", "protected=1"},
			freed:  []string{"changed=2", "protected=1"},
		},
		{
			setup: setup{name: "Argo CD reports the refusal in each sync, and applies nothing", make: argoCD{}.begin},
			first: func(ns string) report {
				return report{Objects: map[string]string{"protected": failed + ": " + refusal(ns, "protected"), "pruned": "Pruned: pruned"}}
			},
			again: func(ns string) report {
				return report{Objects: map[string]string{"protected": failed + ": " + refusal(ns, "protected")}}
			},
			stored: []string{"changed=1", "protected=1"},
			freed:  []string{"changed=2"},
		},
		{
			setup: setup{name: "Argo CD with PruneLast applies the change and reports the refusal in each sync", make: argoCD{pruneLast: true}.begin},
			first: func(ns string) report {
				return report{Objects: map[string]string{
					"changed": "Synced: configmap/changed configured", "protected": failed + ": " + refusal(ns, "protected"), "pruned": "Pruned: pruned",
				}}
			},
			again: func(ns string) report {
				return report{Objects: map[string]string{
					"changed": "Synced: configmap/changed unchanged", "protected": failed + ": " + refusal(ns, "protected"),
				}}
			},
			stored: []string{"changed=2", "protected=1"},
			freed:  []string{"changed=2"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.setup)
			r.mustSucceed(r.manifest("changed", "1"), r.manifest("protected", "1", always), r.manifest("pruned", "1"))
			before := r.get("protected")

			commit := r.manifest("changed", "2")
			r.mustSync(tt.first(r.namespace), commit)
			for range rounds {
				r.mustSync(tt.again(r.namespace), commit)
			}
			r.awaitStored(tt.stored...)
			if diff := cmp.Diff(before, r.get("protected")); diff != "" {
				t.Errorf("the protected object has changed (-before +after):\n%s", diff)
			}

			if out := r.Kubectl(t, "label", "configmaps/protected", "-n", r.namespace, "holdfast.dev/deletion-protected-"); out.Code != 0 {
				t.Fatal(out.Stderr)
			}
			r.mustSucceed(commit)
			r.awaitStored(tt.freed...)
		})
	}
}
