// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/resourceversion"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/builtin"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

// What is followed beside the kinds of templates. Pods are those of operators.
var (
	accountSource   = inventory.ObjectSource{Resource: corev1.SchemeGroupVersion.WithResource("serviceaccounts"), Metadata: true}
	namespaceSource = inventory.ObjectSource{Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), Metadata: true}
	operatorSource  = inventory.ObjectSource{Resource: corev1.SchemeGroupVersion.WithResource("pods"), Label: builtin.StrimziOperator}
	always          = []inventory.ObjectSource{accountSource, namespaceSource, operatorSource}
)

// known is everything that is known of objects and of accounts.
type known struct {
	// touched is told of accounts about which something has changed.
	touched func(types.NamespacedName)
	// counted is told of templates of which something may have to be said.
	counted func(name string)
	clock   clock.WithDelayedExecution
	// changed is told when what cannot be read, or whether an operator runs, is another.
	changed func()
	pauses  timing.Pauses

	mu       sync.Mutex
	mappings map[string]*followed
	// incomplete says that some template cannot be followed, so that nobody knows which
	// accounts it would want.
	incomplete bool
	accounts   map[types.NamespacedName]*account
	namespaces map[string]namespace
	operators  map[types.NamespacedName]bool
	// operated is until when an operator counts that has gone.
	operated time.Time
	synced   sets.Set[inventory.ObjectSource]
	failing  map[inventory.ObjectSource]string
	// settled says whether everything is known that can be known, and settledAt since
	// when that was so first.
	settled   bool
	settledAt time.Time
}

// account is what is known of one.
type account struct {
	live *metav1.PartialObjectMetadata
	// wants by which template and for which object.
	wants map[wantID]mapping.Want
	// last is what was decided last.
	last *plan.Verdict
	// settled is the version in which nothing was left to do after it was written; empty
	// if that is not known.
	settled string
	// ended is the version in which it was deleted last, and missed how many writes in a
	// row were about another account than there is.
	ended  string
	missed int
	// unwanted is since when nobody wants it, and orphaned says that it is to stay as it is
	// when its object goes.
	unwanted time.Time
	orphaned bool
	// sure says that all who may want it could be asked once.
	sure bool
	// refused is why it could not be written the last time.
	refused string
}

// namespace is what is known of one.
type namespace struct {
	labels map[string]string
	// ending says that it is being deleted.
	ending bool
}

type wantID struct {
	mapping, account string
	object           types.NamespacedName
}

func newKnown(c clock.WithDelayedExecution, touched func(types.NamespacedName), counted func(string), changed func(), p timing.Pauses) *known {
	k := &known{clock: c, touched: touched, counted: counted, changed: changed, pauses: p}
	k.forget()
	return k
}

// forget forgets everything.
func (k *known) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mappings, k.accounts = map[string]*followed{}, map[types.NamespacedName]*account{}
	k.namespaces, k.operators = map[string]namespace{}, map[types.NamespacedName]bool{}
	k.synced, k.failing = sets.New[inventory.ObjectSource](), map[inventory.ObjectSource]string{}
	k.incomplete, k.settled, k.settledAt, k.operated = false, false, time.Time{}, time.Time{}
}

// keep returns what is remembered of an object.
func keep(s inventory.ObjectSource, o metav1.Object) metav1.Object {
	switch o := o.(type) {
	case *unstructured.Unstructured:
		o.SetManagedFields(nil)
		if s == operatorSource {
			phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
			return &unstructured.Unstructured{Object: map[string]any{"metadata": o.Object["metadata"], "phase": phase}}
		}
		delete(o.Object, "status")
	case *metav1.PartialObjectMetadata:
		if s != accountSource {
			o.ManagedFields, o.Annotations = nil, nil
		}
	}
	return o
}

// Seen implements inventory.ObjectHandler.
func (k *known) Seen(s inventory.ObjectSource, o metav1.Object) {
	key := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
	if !slices.Contains(always, s) {
		if u, ok := o.(*unstructured.Unstructured); ok {
			k.sawObject(s, key, u)
		}
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch s {
	case accountSource:
		if m, ok := o.(*metav1.PartialObjectMetadata); ok {
			k.sawAccount(key, m)
		}
	case namespaceSource:
		before := k.namespaces[o.GetName()]
		now := namespace{o.GetLabels(), o.GetDeletionTimestamp() != nil}
		k.namespaces[o.GetName()] = now
		if before.ending != now.ending || !maps.Equal(before.labels, now.labels) {
			k.touchIn(o.GetName())
		}
	case operatorSource:
		u, _ := o.(*unstructured.Unstructured)
		k.sawOperator(key, u != nil && !ended(u))
	}
}

// Gone implements inventory.ObjectHandler.
func (k *known) Gone(s inventory.ObjectSource, o metav1.Object, _ bool) {
	key := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
	if !slices.Contains(always, s) {
		k.sawObject(s, key, nil)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch s {
	case accountSource:
		if a := k.accounts[key]; a != nil && a.live != nil && (a.live.UID == o.GetUID() || resourceversion.Newer(o.GetResourceVersion(), a.live.ResourceVersion)) {
			a.live, a.ended = nil, o.GetResourceVersion()
			k.touch(key)
			k.tidy(key)
		}
	case namespaceSource:
		delete(k.namespaces, o.GetName())
	case operatorSource:
		k.sawOperator(key, false)
	}
}

// Synced implements inventory.ObjectHandler.
func (k *known) Synced(s inventory.ObjectSource) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.synced.Insert(s)
	delete(k.failing, s)
	k.settle()
	k.touchAll()
	k.say(s)
}

// Failed implements inventory.ObjectHandler.
func (k *known) Failed(s inventory.ObjectSource, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, already := k.failing[s]; !already {
		k.failing[s] = err.Error()
		k.settle()
		k.say(s)
	}
}

// Works implements inventory.ObjectHandler.
func (k *known) Works(s inventory.ObjectSource) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.failing, s)
	k.touchAll()
	k.say(s)
}

// say has the templates of a source looked at.
func (k *known) say(s inventory.ObjectSource) {
	for name, f := range k.mappings {
		if f.source == s || slices.Contains(always, s) {
			k.counted(name)
		}
	}
	k.changed()
}

// settle says whether everything is known that can be known: before that somebody else
// may have the better claim on an account.
func (k *known) settle() {
	before := k.settled
	if k.settled = k.synced.HasAll(always...) && k.allRead(); !k.settled || before {
		return
	}
	if k.settledAt.IsZero() {
		k.settledAt = k.clock.Now()
		k.clock.AfterFunc(k.pauses.AccountsDiscovered, k.again)
	}
	k.touchAll()
}

// allRead says whether the objects of all templates are known, or cannot be.
func (k *known) allRead() bool {
	for _, f := range k.mappings {
		if f.source != (inventory.ObjectSource{}) && !k.synced.Has(f.source) && k.failing[f.source] == "" {
			return false
		}
	}
	return true
}

// ended says whether a pod runs no more.
func ended(pod *unstructured.Unstructured) bool {
	phase, _ := pod.Object["phase"].(string)
	return phase == string(corev1.PodSucceeded) || phase == string(corev1.PodFailed)
}

// sawAccount takes in an account, from the watch or from the answer to a write.
func (k *known) sawAccount(key types.NamespacedName, o *metav1.PartialObjectMetadata) {
	a := k.account(key)
	if a.live != nil && a.live.UID == o.UID && resourceversion.Newer(a.live.ResourceVersion, o.ResourceVersion) {
		return // what was written is known already
	}
	a.live = o
	if (len(a.wants) > 0 || ours(o)) && o.ResourceVersion != a.settled {
		k.touch(key)
	}
}

func (k *known) sawOperator(pod types.NamespacedName, runs bool) {
	before := len(k.operators)
	delete(k.operators, pod)
	if runs {
		k.operators[pod] = true
	}
	switch now := len(k.operators); {
	case before > 0 && now == 0: // a node is drained, and the next one comes
		k.operated = k.clock.Now().Add(k.pauses.OperatorGrace)
		k.clock.AfterFunc(k.pauses.OperatorGrace, func() {
			k.changed()
			k.again()
		})
	case before == 0 && now > 0:
		k.changed()
		k.touchAll()
	}
}

func (k *known) account(key types.NamespacedName) *account {
	a := k.accounts[key]
	if a == nil {
		a = &account{wants: map[wantID]mapping.Want{}}
		k.accounts[key] = a
	}
	return a
}

// tidy forgets an account that is not there and that nobody wants.
func (k *known) tidy(key types.NamespacedName) {
	if a := k.accounts[key]; a != nil && a.live == nil && len(a.wants) == 0 {
		delete(k.accounts, key)
	}
}

func (k *known) touch(key types.NamespacedName) {
	if a := k.accounts[key]; k.settled && a != nil && (len(a.wants) > 0 || a.last != nil || a.live != nil && ours(a.live)) {
		k.touched(key)
	}
}

func (k *known) touchIn(namespace string) {
	for key := range k.accounts {
		if key.Namespace == namespace {
			k.touch(key)
		}
	}
}

// again has every account looked at again: what is to become of them may be another.
func (k *known) again() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.touchAll()
}

func (k *known) touchAll() {
	for key := range k.accounts {
		k.touch(key)
	}
}

// ours says whether Holdfast has set something on an account.
func ours(o *metav1.PartialObjectMetadata) bool {
	return slices.ContainsFunc(o.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == plan.FieldManager })
}
