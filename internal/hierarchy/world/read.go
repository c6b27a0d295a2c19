// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/pager"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/resourceversion"
)

// Everything is all that may have to be written, for one who has not followed what
// changed and to whom nothing waits. Nearly all copies are as they should be then.
func (w *World) Everything() Dirty {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.state == nil || !w.state.complete {
		return Dirty{}
	}
	d := w.state.everything()
	maps.DeleteFunc(d.Copies, func(at CopyRef, _ sets.Empty) bool { return w.state.inOrder(at) })
	return d
}

// CopyPlan is what is known of a place for a copy.
type CopyPlan struct {
	propagate.Verdict
	// Mode in which the kind is copied.
	Mode hncv1alpha2.SynchronizationMode
	Kind inventory.Kind
	// From is what is to be copied where the verdict says so.
	From *Source
	// Have is the copy that is there, and Instead an object that is none.
	Have    *Copy
	Instead *Source
	// Explained says that people have said what makes the copy go: they have deleted
	// its source, or changed it so that it is not to be copied there any more. While
	// the trees may be others than those that are known nothing is explained.
	Explained bool
	// Unsafe reports that a copy of a RoleBinding that is to be removed grants, or soon grants, what its source does not.
	Unsafe bool
	// SourceGoing says that the namespace above that the copy comes from is being
	// deleted, with all that is in it.
	SourceGoing bool
	Rules       propagate.Rules
	// Copies is how many copies there are of all kinds, and Brake how many of them may
	// go at once.
	Copies int
	Brake  settings.Brake
}

// UpToDate says whether the copy is as it should be.
func (p CopyPlan) UpToDate() bool {
	return p.Have != nil && p.From != nil && p.Have.From == p.From.Object.GetNamespace() && p.Have.Digest == p.From.Digest
}

// Copy says what should become of a place for a copy; nil if that is not known. Of a
// kind that is not followed nothing is to become.
func (w *World) Copy(at CopyRef) *CopyPlan {
	w.mu.RLock()
	defer w.mu.RUnlock()
	s := w.state
	if s == nil || !s.complete {
		return nil
	}
	kind := s.kindOf(at.Kind)
	switch {
	case kind == nil:
		return &CopyPlan{Verdict: propagate.Verdict{Action: propagate.Leave}}
	case !s.ready(kind):
		return nil
	}
	p := &CopyPlan{
		Verdict: s.decide(at), Mode: kind.mode, Kind: kind.Kind, Rules: s.sources.Rules(),
		Have: s.copies[at.Key][at.Namespace], Instead: s.objects[at.Key][at.Namespace],
	}
	p.Copies, p.Brake = s.total, s.settings.Brake
	if p.Source != nil {
		p.From = s.objects[at.Key][p.Source.Namespace]
	}
	if p.Have != nil {
		p.Unsafe = s.unsafe(p.Verdict, p.Have)
		p.Explained = s.explained(p.Verdict, p.Have) && len(s.blind) == 0
		above := s.tree.Get(p.Have.From)
		p.SourceGoing = above != nil && above.Terminating && s.tree.IsAncestor(p.Have.From, at.Namespace)
	}
	return p
}

// Wrote takes in that a copy of a source was written, so that what the watch tells
// later is no news. RoleBindings that wait for a copied Role are added right away.
func (w *World) Wrote(at CopyRef, o *metav1.PartialObjectMetadata, from *Source) {
	c := &Copy{ObjectMeta: identity(o), From: from.Object.GetNamespace(), Digest: from.Digest, Role: from.Role, Rules: from.Rules, wrote: true}
	if d := w.wrote(at, c); len(d.Copies) > 0 {
		w.o.Changed(d)
	}
}

func (w *World) wrote(at CopyRef, c *Copy) Dirty {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := Dirty{Copies: sets.New[CopyRef]()}
	s := w.state
	if s == nil || s.kindOf(at.Kind) == nil || s.ended.uids.Has(c.UID) {
		return d
	}
	before := s.copies[at.Key][at.Namespace]
	if before != nil && !resourceversion.Newer(c.ResourceVersion, before.ResourceVersion) {
		return d
	}
	s.putCopy(at.Key, c)
	if !sameRole(before, c) {
		s.followRole(at, true, &d)
		s.dropUnsynced(&d)
	}
	return d
}

// NamespacePlan is what is known of a namespace.
type NamespacePlan struct {
	Namespace *corev1.Namespace
	// Outcome is what should be.
	Outcome *tree.Outcome
	// Config is nil if there is none.
	Config *hncv1alpha2.HierarchyConfiguration
	// Anchors is how many there are in it.
	Anchors int
	// Subnamespaces says whether there are any right below it.
	Subnamespaces bool
	// DeletingCRD says that HierarchyConfigurations go because their CRD does.
	DeletingCRD bool
	// Unknown are kinds that are copied, and of which not all objects are known.
	Unknown  []KindState
	Settings settings.Settings
}

// KindState is a kind that is copied.
type KindState struct {
	Kind inventory.Kind
	// Failing says why its objects cannot be watched; empty while they can.
	Failing string
}

// Namespace says what is known of one; nil if it does not exist or the trees are
// not known.
func (w *World) Namespace(name string) *NamespacePlan {
	w.mu.RLock()
	defer w.mu.RUnlock()
	s := w.state
	if s == nil || !s.complete || s.namespaces[name] == nil {
		return nil
	}
	p := &NamespacePlan{
		Namespace: s.namespaces[name], Outcome: s.tree.Get(name), Config: s.configs[name], Anchors: len(s.anchors[name]),
		DeletingCRD: s.definitions[configCRD].going, Settings: s.settings,
	}
	for _, c := range p.Outcome.Children {
		if child := s.tree.Get(c); child != nil && child.Subnamespace {
			p.Subnamespaces = true
			break
		}
	}
	for _, k := range s.kinds {
		if !k.synced && k.mode != hncv1alpha2.ModeRemove {
			p.Unknown = append(p.Unknown, KindState{k.Kind, k.failing})
		}
	}
	return p
}

// SourcePlan is what is known of a source.
type SourcePlan struct {
	Object *unstructured.Unstructured
	*propagate.Source
	// Withheld are the namespaces to which a RoleBinding is not copied because of its Role, in order.
	Withheld []Withheld
}

// Source says what is known of one; nil if there is none.
func (w *World) Source(at CopyRef) *SourcePlan {
	w.mu.RLock()
	defer w.mu.RUnlock()
	s := w.state
	if s == nil || s.objects[at.Key][at.Namespace] == nil {
		return nil
	}
	source := s.sources.Get(at.Key, at.Namespace)
	if source == nil {
		return nil
	}
	return &SourcePlan{s.objects[at.Key][at.Namespace].Object, source, s.withheld(source)}
}

// AnchorPlan is what is known of an anchor.
type AnchorPlan struct {
	Anchor *hncv1alpha2.SubnamespaceAnchor
	State  hncv1alpha2.AnchorState
	// Within is the namespace that the anchor is in, and Subnamespace the one of its
	// name; nil if there is none.
	Within, Subnamespace *corev1.Namespace
	// Born is what the subnamespace should be from its first moment.
	Born *tree.Outcome
	// DeletesSubnamespace says that the subnamespace goes when the anchor does.
	DeletesSubnamespace bool
}

// Anchor says what is known of one; nil if it does not exist or the trees are not
// known. One that is being deleted takes a subnamespace along, for which they must
// not be of yesterday; one that goes with its CRD takes none.
func (w *World) Anchor(at Ref) *AnchorPlan {
	w.mu.RLock()
	defer w.mu.RUnlock()
	s := w.state
	if s == nil || !s.complete || s.anchors[at.Namespace][at.Name] == nil || s.tree.Get(at.Namespace) == nil {
		return nil
	}
	withCRD := s.definitions[anchorCRD].going
	if len(s.blind) > 0 && s.anchors[at.Namespace][at.Name].DeletionTimestamp != nil && !withCRD {
		return nil
	}
	p := &AnchorPlan{
		Anchor: s.anchors[at.Namespace][at.Name], Within: s.namespaces[at.Namespace], Subnamespace: s.namespaces[at.Name],
		State: s.tree.Get(at.Namespace).Anchors[at.Name],
	}
	if p.State == hncv1alpha2.AnchorMissing {
		born, _ := s.tree.Apply(tree.SetNamespace(at.Name, &tree.Object{
			Annotations: map[string]string{hncv1alpha2.AnnotationSubnamespaceOf: at.Namespace, v1alpha1.InheritedPodSecurityAnnotation: ""},
		}))
		p.Born = born.Get(at.Name)
	}
	p.DeletesSubnamespace = !withCRD && s.deletesSubnamespace(at)
	return p
}

func (s *state) deletesSubnamespace(at Ref) bool {
	sub := s.tree.Get(at.Name)
	return sub != nil && s.tree.Get(at.Namespace).Anchors[at.Name] == hncv1alpha2.AnchorOk && !sub.Terminating &&
		(len(sub.Children) == 0 || sub.AllowCascadingDeletion)
}

// ResourceState is one kind that is configured, with what there is of it.
type ResourceState struct {
	Resource
	// Known is false while not all objects of the kind have been seen, and for one
	// that is ignored.
	Known           bool
	Failing         string
	Sources, Copies int
}

// ConfigPlan is what is known for the status of the HNCConfiguration.
type ConfigPlan struct {
	// Config is nil if there is none.
	Config    *hncv1alpha2.HNCConfiguration
	Resources []ResourceState
	// Reading says that objects of a kind are still on their way, as they are after a start.
	Reading bool
	// Conditions has, for each type of the conditions of namespaces, those that have
	// it, in order.
	Conditions map[string][]string
	// Problems counts the namespaces that have a condition for a reason.
	Problems map[Problem]int
}

// Problem is what a namespace has a condition for.
type Problem struct{ Type, Reason string }

// Config says what is known for the status of the HNCConfiguration; nil while the
// kinds are not known.
func (w *World) Config() *ConfigPlan {
	w.mu.RLock()
	defer w.mu.RUnlock()
	s := w.state
	if s == nil || !s.complete || s.resources == nil {
		return nil
	}
	p := &ConfigPlan{Config: s.hnc, Reading: s.reading(), Conditions: map[string][]string{}, Problems: map[Problem]int{}}
	sources, copies := count(s, s.objects), count(s, s.copies)
	for _, r := range s.resources {
		state := ResourceState{Resource: r}
		if k := s.kindOf(r.Kind.GroupKind()); k != nil && r.Problem == "" {
			state.Known, state.Failing, state.Sources, state.Copies = k.synced, k.failing, sources[k.GroupKind()], copies[k.GroupKind()]
		}
		p.Resources = append(p.Resources, state)
	}
	for name, o := range s.tree.All() {
		var last string
		for _, c := range o.Conditions {
			p.Problems[Problem{c.Type, c.Reason}]++
			if c.Type != last {
				p.Conditions[c.Type], last = append(p.Conditions[c.Type], name), c.Type
			}
		}
	}
	for _, names := range p.Conditions {
		slices.Sort(names)
	}
	return p
}

// reading says whether objects are on their way.
func (s *state) reading() bool {
	for _, k := range s.kinds {
		if !k.synced && k.failing == "" {
			return true
		}
	}
	return false
}

// count counts objects in managed namespaces.
func count[T any](s *state, objects map[propagate.Key]map[string]T) map[schema.GroupKind]int {
	out := map[schema.GroupKind]int{}
	for k, in := range objects {
		for namespace := range in {
			if s.settings.Managed(namespace) {
				out[k.Kind]++
			}
		}
	}
	return out
}

// Kinds are those that are copied now, in the order of their names.
func (w *World) Kinds() []inventory.Kind {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.state == nil {
		return nil
	}
	var out []inventory.Kind
	for _, k := range w.state.kinds {
		if propagate.Enforced(k.GroupKind()) || (k.mode != hncv1alpha2.ModeRemove) {
			out = append(out, k.Kind)
		}
	}
	slices.SortFunc(out, func(a, b inventory.Kind) int {
		return cmp.Or(strings.Compare(a.Resource.Group, b.Resource.Group), strings.Compare(a.Resource.Resource, b.Resource.Resource))
	})
	return out
}

// Namespaces are the names of those that exist.
func (w *World) Namespaces() []string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.state == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(w.state.namespaces))
}

// External says whether there are external namespaces.
func (w *World) External() bool {
	v := w.view.Load()
	return v != nil && v.External
}

// Read reads all sources of some kinds, which need not be known, as some rules would
// treat them.
func (w *World) Read(ctx context.Context, kinds []inventory.Kind, rules propagate.Rules) (*propagate.Sources, error) {
	out := propagate.NewSources(rules)
	for _, k := range kinds {
		objects := w.o.Dynamic.Resource(k.Resource)
		err := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = "!" + hncv1alpha2.LabelInheritedFrom
			return objects.List(ctx, o)
		}).EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
			if u, ok := o.(*unstructured.Unstructured); ok {
				out = out.With(rules.NewSource(describe(k.GroupKind(), u)))
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", k.GroupResource(), err)
		}
	}
	return out, nil
}
