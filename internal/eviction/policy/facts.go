// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// Request is an eviction that somebody asks for.
type Request struct {
	Namespace, Name string
	// UID is the precondition that the eviction carries; empty for none.
	UID types.UID
	// DryRun changes no verdict, and nothing is written.
	DryRun bool
	// User and Groups are who asks.
	User   string
	Groups []string
}

// Facts are what is known so far. Only the request, the metadata and the time
// are always there.
type Facts struct {
	Request Request
	// Meta is the metadata of the pod.
	Meta *metav1.ObjectMeta
	// Pod is the whole of it; nil if it has not been read.
	Pod *corev1.Pod
	// Node is that of the pod; nil if it has not been read or there is none.
	Node *Node
	// Namespace is that of the pod; nil if it has not been read.
	Namespace *metav1.ObjectMeta
	// Protection names what protects the pod from deletion, "" for nothing; nil if
	// that has not been asked.
	Protection *string
	// Skip are the names of policies that are left out.
	Skip sets.Set[string]
	Now  time.Time
}

// Node is what counts of a node.
type Node struct{ Draining bool }

// Need is what a decision lacks.
type Need int

// What a decision can lack.
const (
	NeedNothing Need = iota
	NeedPod
	NeedNode
	NeedNamespace
	NeedProtection
)

// Settings are what decides.
type Settings struct {
	// Mode bounds that of each policy.
	Mode configv1alpha1.Mode
	// Policies are held against a pod in this order.
	Policies []*Policy
	// DrainCleaner comes after them.
	DrainCleaner DrainCleaner
	// RefuseProtected refuses the eviction of what is protected from deletion.
	RefuseProtected bool
}

// Outcome is how a decision came about; there are few, so that metrics can have
// it as a label.
type Outcome string

// How a decision can come about.
const (
	// OutcomeNone is that nothing matched.
	OutcomeNone Outcome = "no-match"
	// OutcomeOtherUID is that the eviction is meant for another pod of the name.
	OutcomeOtherUID Outcome = "other-uid"
	// OutcomeLeaving is that the pod is terminating, or has finished.
	OutcomeLeaving Outcome = "leaving"
	// OutcomeHeld is that the pod stays until something else moves it.
	OutcomeHeld Outcome = "held"
	// OutcomeAllowed is that a policy lets the eviction pass.
	OutcomeAllowed Outcome = "allowed"
	// OutcomeReleased is that what a policy waited for has come.
	OutcomeReleased Outcome = "released"
	// OutcomeElsewhere is that the pod's node is not being drained.
	OutcomeElsewhere Outcome = "elsewhere"
	// OutcomeOverdue is that a deadline has passed.
	OutcomeOverdue Outcome = "overdue"
	// OutcomeProtected is that the pod is protected from deletion.
	OutcomeProtected Outcome = "protected"
	// OutcomeError is that a policy could not be applied.
	OutcomeError Outcome = "error"
)

// Verdict is what becomes of an eviction.
type Verdict struct {
	// Need is what to find out before asking again. Of the rest only Policy, Mode and
	// OnError then count, for when it cannot be found out.
	Need Need

	Outcome Outcome
	// Policy is the name of the EvictionPolicy that decided; empty if none did.
	Policy string
	// DrainCleaner says that the rules of the Strimzi Drain Cleaner decided.
	DrainCleaner bool
	// Mode in which the verdict holds.
	Mode configv1alpha1.Mode

	// Allowed says that the eviction passes when the mode is Enforce; in all others
	// it passes in any case.
	Allowed bool
	// Code, Reason and Message of a refusal. Reason is empty where the Drain
	// Cleaner leaves it so.
	Code    int32
	Reason  metav1.StatusReason
	Message string
	// Warning for whoever asks; empty for none.
	Warning string
	// Due is when the policy's deadline for a pod that it holds passes; zero if it
	// has none, or has passed.
	Due time.Time

	// Trials are what policies in a weaker mode would have said.
	Trials []Verdict

	// Patch is what to write to the pod; nil if nothing is to be written.
	Patch *Patch
	// Events to send about the pod.
	Events []Event
	// OnError says what becomes of the eviction if the patch fails.
	OnError OnError
	// Err is why a policy could not be applied.
	Err error
}

// Enforced says whether the verdict counts, or is only told.
func (v Verdict) Enforced() bool { return v.Mode == configv1alpha1.ModeEnforce }

// Codes of a refusal.
const (
	codeBadRequest      = 400
	codeForbidden       = 403
	codeNotFound        = 404
	codeTooManyRequests = 429
	codeInternalError   = 500
	codeUnavailable     = 503
)

// OnError says what becomes of an eviction when something fails on the way.
type OnError int

// What can become of it.
const (
	// ByConfiguration is as the configuration has it for an outage.
	ByConfiguration OnError = iota
	// Allow lets it pass.
	Allow
	// Refuse answers with code 429.
	Refuse
)

// Patch is what to write to a pod.
type Patch struct{ Annotations, Labels map[string]string }

// Event is to be sent about a pod.
type Event struct {
	Warning         bool
	Reason, Message string
}
