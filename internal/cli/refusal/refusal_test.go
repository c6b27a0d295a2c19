// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package refusal

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
)

const (
	byPolicy  = `configmaps "x" is forbidden: ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s`
	byWebhook = `admission webhook "%s" denied the request: %s`
)

func answer(code int32, message string) error {
	return fmt.Errorf("a request: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: metav1.StatusReasonForbidden, Message: message}})
}

func policy(name, message string) string { return fmt.Sprintf(byPolicy, name, name, message) }

func TestOf(t *testing.T) {
	t.Parallel()
	kept := rules.Kept("s", policy("holdfast-deletion-contents", "because of what hangs below it: 1 protected"))
	for _, tt := range []struct {
		name, message, who, says, root, steps string
	}{
		{
			"a policy of Holdfast", policy("holdfast-deletion-holdfast-unprotect", "no"),
			"the policy holdfast-deletion-holdfast-unprotect (Holdfast: deletion)", "no", "",
			"put the label back into what you apply|or ask somebody who holds the RBAC verb unprotect on resourcedeletionprotections.holdfast.dev to run: kubectl holdfast unprotect configmaps/x -n shop",
		},
		{
			"labels that select", policy("holdfast-deletion-protection-unprotect", "no"),
			"the policy holdfast-deletion-protection-unprotect (Holdfast: deletion)", "no", "",
			"leave the labels and the owners that the message is about as they are|or ask for the RBAC verb unprotect on resourcedeletionprotections.holdfast.dev",
		},
		{
			"a definition without a look", policy("holdfast-deletion-unchecked", "no"),
			"the policy holdfast-deletion-unchecked (Holdfast: deletion)", "no", "",
			"ask for the RBAC verb unprotect on resourcedeletionprotections.holdfast.dev, cluster-wide",
		},
		{
			"a policy of somebody else", policy("no-latest", "tag it"),
			"the policy no-latest, which is not Holdfast's", "tag it", "", "ask whoever keeps the policy no-latest",
		},
		{
			"a mark", policy("holdfast-marks", "no"),
			"the policy holdfast-marks (Holdfast: marks)", "no", "", "keep the object's marks as they are when you write it: only Holdfast changes these labels",
		},
		{
			"a copy", policy("holdfast-hierarchy-copies", fmt.Sprintf(rules.TextCopyChanged, "acme")),
			"the policy holdfast-hierarchy-copies (Holdfast: hierarchy)", `this is a copy; change what it was copied from, in the namespace "acme"`, "",
			"change what it was copied from: kubectl edit configmaps/x -n acme|or keep it from being copied there: kubectl annotate configmaps/x -n acme propagate.hnc.x-k8s.io/treeSelect='!shop'",
		},
		{
			"a webhook that quotes a policy", fmt.Sprintf(byWebhook, "subnamespaceanchors.hnc.x-k8s.io", kept.Denied.Message),
			"the webhook subnamespaceanchors.hnc.x-k8s.io (Holdfast: hierarchy)", kept.Denied.Message,
			"the policy holdfast-deletion-contents (Holdfast: deletion)", "decide first about what keeps it: kubectl holdfast why delete namespace s",
		},
		{
			"a webhook that does not answer", `Internal error occurred: failed calling webhook "namespaces.hnc.x-k8s.io": connection refused`,
			"the webhook namespaces.hnc.x-k8s.io (Holdfast: hierarchy), which does not answer", "connection refused", "",
			"see how Holdfast is: kubectl holdfast status",
		},
		{
			"an eviction", fmt.Sprintf(byWebhook, "eviction.holdfast.dev", "EvictionPolicy stay: stay"),
			"the webhook eviction.holdfast.dev (Holdfast: eviction)", "EvictionPolicy stay: stay", "", "see what decides: kubectl holdfast why evict x -n shop",
		},
		{
			"RBAC", `configmaps "x" is forbidden: User "bob" cannot update resource "configmaps" in API group "" in the namespace "shop"`,
			"RBAC", `User "bob" cannot update resource "configmaps" in API group "" in the namespace "shop"`, "", "ask for the RBAC verb update on configmaps in namespace shop",
		},
		{
			"RBAC, cluster-wide", `x is forbidden: User "bob" cannot create resource "deploys/scale" in API group "apps" at the cluster scope`,
			"RBAC", `User "bob" cannot create resource "deploys/scale" in API group "apps" at the cluster scope`, "", "ask for the RBAC verb create on deploys.apps/scale, cluster-wide",
		},
		{"the API server", "the object is not valid", "the API server", "the object is not valid", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := Of(answer(403, tt.message))
			root := ""
			if r.Root() != r {
				root = r.Root().String()
			}
			steps := strings.Join(r.Steps(About{Target: "configmaps/x", Flag: " -n shop", Name: "x"}), "|")
			if diff := cmp.Diff([]string{tt.who, tt.says, tt.root, tt.steps}, []string{r.String(), r.Message, root, steps}); diff != "" {
				t.Error(diff)
			}
			if r.Code != 403 || r.Reason != metav1.StatusReasonForbidden {
				t.Errorf("got %d %s", r.Code, r.Reason)
			}
		})
	}
}

func TestOf_whatIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("connection refused")} {
		if r := Of(err); r != nil {
			t.Errorf("%v: got %v", err, r)
		}
	}
}

func TestOf_fieldsOfOthers(t *testing.T) {
	t.Parallel()
	r := Of(apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Message: "conflict", Field: ".data"}}, "conflict with others"))
	if r.By != ByFields {
		t.Errorf("got %s", r.By)
	}
}
