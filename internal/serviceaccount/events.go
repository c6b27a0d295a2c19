// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/lru"

	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

// Reasons of events, which are about the object that an account belongs to.
const (
	// ReasonWritten says what was written.
	ReasonWritten = "ServiceAccountWritten"
	// ReasonPending says what would be, in mode Report.
	ReasonPending = "ServiceAccountPending"
	// ReasonConflict says what stays as others have set it, or whose the account is.
	ReasonConflict = "ServiceAccountConflict"
	// ReasonFight says what was given up.
	ReasonFight = "ServiceAccountFight"
	// ReasonFailed says why it cannot be told or written.
	ReasonFailed = "ServiceAccountFailed"
)

const (
	// someTold bounds what is remembered of what was told.
	someTold = 8192
	// someChanges is how many changes a message names.
	someChanges = 5
	// longest is the most that the API server takes of a message, in bytes.
	longest = 1024
	// burst is how many writes are told of at once, and each second so many more: when a
	// thousand accounts are written, the events would be half of the work of the API
	// server. The metric counts all.
	burst, eachSecond = 20, 5
)

// teller tells people, each thing once for as long as it stays.
type teller struct {
	recorder events.EventRecorder
	told     *lru.Cache
	writes   flowcontrol.PassiveRateLimiter
}

func newTeller(r events.EventRecorder) *teller {
	return &teller{recorder: r, told: lru.New(someTold), writes: flowcontrol.NewTokenBucketPassiveRateLimiter(eachSecond, burst)}
}

type toldKey struct {
	account types.NamespacedName
	reason  string
	source  types.UID
}

// tell tells of what stands in the way of a decision, and in mode Report what would be
// written.
func (t *teller) tell(f plan.Facts, v plan.Verdict, report bool) {
	for _, w := range f.Wants {
		problem := ""
		if w.Err != nil {
			problem = w.Err.Error()
		}
		t.once(f.NamespacedName, &w.Source, corev1.EventTypeWarning, ReasonFailed, problem)
	}
	if v.Report.Claimant == nil || f.Name == "" { // it belongs to nobody as long as it has no name
		return
	}
	source := &v.Report.Claimant.Source
	for _, rival := range v.Report.Rivals {
		t.once(f.NamespacedName, &rival.Source, corev1.EventTypeWarning, ReasonConflict, fmt.Sprintf(
			"the account %s, of the ServiceAccountTemplate %s, belongs to the %s %s by the ServiceAccountTemplate %s",
			f.Name, rival.Mapping, source.Kind, source.Name, v.Report.Claimant.Mapping))
	}
	t.once(f.NamespacedName, source, corev1.EventTypeWarning, ReasonConflict, conflict(f, v))
	pending := ""
	if report && v.Pending() {
		pending = fmt.Sprintf("the account %s would be written: %s", f.Name, done(v))
	}
	t.once(f.NamespacedName, source, corev1.EventTypeNormal, ReasonPending, pending)
}

// conflict describes what keeps an account from being as its object wants it; empty if nothing does.
func conflict(f plan.Facts, v plan.Verdict) (problem string) {
	source := &v.Report.Claimant.Source
	switch kept := describe(v.Report.Changes, plan.Yielded, plan.Conflicting); {
	case v.Report.Problem == plan.ProblemError: // told above
	case v.Report.Problem != "":
		problem = fmt.Sprintf("the account %s is left as it is: %s", f.Name, v.Report.Message)
		if kept != "" {
			problem += ": " + kept
		}
	case kept != "":
		problem = fmt.Sprintf("the account %s keeps what others have set: %s", f.Name, kept)
	}
	if withheld := describe(v.Report.Changes, plan.Withheld); withheld != "" && v.Report.Problem == "" {
		if problem != "" {
			problem += "; "
		}
		problem += fmt.Sprintf("the %s %s does not own the account %s, so it cannot change what pods of that may do: %s", source.Kind, source.Name, f.Name, withheld)
	}
	return problem
}

// did tells of a write to an account that was there. Those that are made for their
// objects can be many at once, and nobody wonders.
func (t *teller) did(f plan.Facts, v plan.Verdict) {
	if v.Report.Claimant != nil {
		t.told.Remove(toldKey{f.NamespacedName, refused, v.Report.Claimant.Source.UID})
	}
	switch {
	case v.Action.Do == plan.Create || v.Action.Do == plan.TakeOver || !t.writes.TryAccept():
		return
	case v.Report.Claimant == nil:
		t.sendAbout(accountReference(f.NamespacedName), nil, corev1.EventTypeNormal, ReasonWritten, done(v))
		return
	}
	t.send(f.NamespacedName, &v.Report.Claimant.Source, corev1.EventTypeNormal, ReasonWritten, fmt.Sprintf("the account %s was written: %s", f.Name, done(v)))
}

// refused is where it is remembered what was told of a write that was refused, beside
// what is told of the object.
const refused = "write"

// failed tells that a write was refused, once for as long as it is.
func (t *teller) failed(f plan.Facts, v plan.Verdict, err error) {
	if v.Report.Claimant == nil {
		return
	}
	source := &v.Report.Claimant.Source
	key, message := toldKey{f.NamespacedName, refused, source.UID}, fmt.Sprintf("the account %s cannot be written: %v", f.Name, err)
	if last, told := t.told.Get(key); told && last == message {
		return
	}
	t.told.Add(key, message)
	t.send(f.NamespacedName, source, corev1.EventTypeWarning, ReasonFailed, message)
}

// gaveUp tells of keys that somebody else always sets to something else.
func (t *teller) gaveUp(f plan.Facts, v plan.Verdict, keys []plan.Key) {
	if v.Report.Claimant == nil {
		return
	}
	names := make([]string, 0, len(keys))
	for _, k := range keys {
		names = append(names, fmt.Sprintf("%s %s", k.Field, k.Name))
	}
	slices.Sort(names)
	t.send(f.NamespacedName, &v.Report.Claimant.Source, corev1.EventTypeWarning, ReasonFight, fmt.Sprintf(
		"on the account %s somebody else, or a webhook, always sets again: %s; Holdfast leaves that alone for %s", f.Name, strings.Join(names, ", "), giveUp))
}

// cameBack tells of those who wrote the account before, and do so still.
func (t *teller) cameBack(f plan.Facts, v plan.Verdict, managers []string) {
	if v.Report.Claimant == nil {
		return
	}
	t.send(f.NamespacedName, &v.Report.Claimant.Source, corev1.EventTypeWarning, ReasonFight, fmt.Sprintf(
		"the account %s was taken over from %s, who has written it again and so runs still: what it sets stays as it sets it for %s; stop it, or take it off takeOver of the ServiceAccountTemplate %s",
		f.Name, strings.Join(managers, ", "), giveUp, v.Report.Claimant.Mapping))
}

// once tells something unless it was the last that was told of its reason; nothing to
// tell counts, so that what comes back is told again.
func (t *teller) once(account types.NamespacedName, source *mapping.Source, kind, reason, message string) {
	key := toldKey{account, reason, source.UID}
	last, told := t.told.Get(key)
	if message == "" {
		if told {
			t.told.Remove(key)
		}
		return
	}
	if told && last == message {
		return
	}
	t.told.Add(key, message)
	t.send(account, source, kind, reason, message)
}

func (t *teller) send(account types.NamespacedName, source *mapping.Source, kind, reason, message string) {
	about := &corev1.ObjectReference{
		APIVersion: source.GroupVersion().String(), Kind: source.Kind, Namespace: source.Namespace, Name: source.Name, UID: source.UID,
	}
	t.sendAbout(about, accountReference(account), kind, reason, message)
}

func accountReference(account types.NamespacedName) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}
}

func (t *teller) sendAbout(about, related *corev1.ObjectReference, kind, reason, message string) {
	if len(message) > longest {
		message = strings.ToValidUTF8(message[:longest-len("…")], "") + "…"
	}
	if related == nil {
		t.recorder.Eventf(about, nil, kind, reason, "Reconcile", "%s", message)
		return
	}
	// Events about the same are counted under the text of the first, unless something
	// tells them apart.
	h := fnv.New64a()
	_, _ = h.Write([]byte(message))
	related.ResourceVersion = strconv.FormatUint(h.Sum64(), 16)
	t.recorder.Eventf(about, related, kind, reason, "Reconcile", "%s", message)
}

// done says what a write does.
func done(v plan.Verdict) string {
	what := describe(v.Report.Changes, plan.Added, plan.Changed, plan.Removed)
	switch v.Action.Do {
	case plan.Create:
		return join("it is made", what)
	case plan.Delete:
		return join("it is deleted", v.Report.Message)
	case plan.Release, plan.LetGo:
		return join("it is given back", v.Report.Message)
	default:
		if what == "" {
			return "Holdfast owns what it was to have already"
		}
		return what
	}
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + ": " + b
}

// describe names the first few changes of some kinds, cloud identities before all
// others.
func describe(changes []plan.Change, kinds ...plan.Kind) string {
	var out []string
	changes = slices.DeleteFunc(slices.Clone(changes), func(c plan.Change) bool { return !slices.Contains(kinds, c.Kind) })
	slices.SortStableFunc(changes, func(a, b plan.Change) int {
		switch {
		case (a.Identity == nil) == (b.Identity == nil):
			return 0
		case a.Identity != nil:
			return -1
		default:
			return 1
		}
	})
	for _, c := range changes {
		text := fmt.Sprintf("%s %s %s", c.Kind, c.Field, c.Name)
		switch {
		case c.Kind == plan.Changed:
			text += fmt.Sprintf(" from %q to %q", c.From, c.To)
		case c.Kind == plan.Added:
			text += fmt.Sprintf(" %q", c.To)
		case len(c.Owners) > 0 && c.Kind != plan.Removed:
			text += fmt.Sprintf(" (%q, by %s, and not %q)", c.From, c.Owners[0].Manager, c.To)
		}
		out = append(out, text)
	}
	if len(out) > someChanges {
		out = append(out[:someChanges], fmt.Sprintf("and %d more", len(out)-someChanges))
	}
	return strings.Join(out, "; ")
}
