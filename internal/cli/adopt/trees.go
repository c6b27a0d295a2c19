// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/platform/resourceversion"
)

const (
	pageSize = 500
	// writer is the field manager of what Holdfast writes for trees.
	writer = "holdfast-hierarchy"
)

// counts of what a hand-over is about.
type counts struct {
	// InTrees are namespaces that stand above or below another.
	InTrees     int `json:"namespacesInTrees"`
	Hierarchies int `json:"hierarchyConfigurations"`
	Anchors     int `json:"subnamespaceAnchors"`
	Copies      int `json:"copies"`
}

func (c counts) String() string {
	return fmt.Sprintf("%d namespaces in trees, %d HierarchyConfigurations, %d SubnamespaceAnchors and %d copies",
		c.InTrees, c.Hierarchies, c.Anchors, c.Copies)
}

// listed is a list of objects, by what is known of one without its content.
type listed struct {
	resource string
	// version of the list: what has a newer one was written since.
	version string
	objects []metav1.PartialObjectMetadata
}

// list reads all objects of a kind.
func (h *handover) list(ctx context.Context, r schema.GroupVersionResource, selector string) (listed, error) {
	out := listed{resource: r.GroupResource().String()}
	o := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for {
		page, err := h.metadata.Resource(r).List(ctx, o)
		if err != nil {
			return listed{}, fmt.Errorf("list %s: %w", out.resource, err)
		}
		if out.version == "" {
			out.version = page.ResourceVersion
		}
		out.objects = append(out.objects, page.Items...)
		if o.Continue = page.Continue; o.Continue == "" {
			return out, nil
		}
	}
}

// lists are all objects of the trees.
type lists struct {
	namespaces, hierarchies, anchors, configurations listed
	copies                                           []listed
}

func (h *handover) lists(ctx context.Context) (lists, error) {
	var (
		out lists
		err error
	)
	for _, l := range []struct {
		into *listed
		from schema.GroupVersionResource
	}{
		{&out.namespaces, corev1.SchemeGroupVersion.WithResource("namespaces")},
		{&out.hierarchies, hncv1alpha2.GroupVersion.WithResource(hncv1alpha2.ResourceHierarchyConfigurations)},
		{&out.anchors, hncv1alpha2.GroupVersion.WithResource(hncv1alpha2.ResourceSubnamespaceAnchors)},
		{&out.configurations, hncv1alpha2.GroupVersion.WithResource(hncv1alpha2.ResourceHNCConfigurations)},
	} {
		if *l.into, err = h.list(ctx, l.from, ""); err != nil {
			return lists{}, err
		}
	}
	// Holdfast's own namespace is in no tree; HNC may have had it in one.
	out.namespaces.objects = slices.DeleteFunc(out.namespaces.objects, func(o metav1.PartialObjectMetadata) bool { return o.Name == h.Namespace })
	copied, err := h.copied(ctx)
	if err != nil {
		return lists{}, err
	}
	for _, r := range copied {
		l, err := h.list(ctx, r, hncv1alpha2.LabelInheritedFrom)
		if err != nil {
			return lists{}, err
		}
		l.resource = "copies of " + l.resource
		out.copies = append(out.copies, l)
	}
	return out, nil
}

func (l lists) all() []listed {
	return append([]listed{l.namespaces, l.hierarchies, l.anchors, l.configurations}, l.copies...)
}

func (l lists) counts() counts {
	out := counts{InTrees: inTrees(l.namespaces.objects), Hierarchies: len(l.hierarchies.objects), Anchors: len(l.anchors.objects)}
	for _, c := range l.copies {
		out.Copies += len(c.objects)
	}
	return out
}

func (h *handover) count(ctx context.Context) (counts, error) {
	l, err := h.lists(ctx)
	return l.counts(), err
}

// inTrees counts namespaces that stand above or below another, as their labels say.
func inTrees(namespaces []metav1.PartialObjectMetadata) int {
	in := map[string]bool{}
	for i := range namespaces {
		ns := &namespaces[i]
		for key := range ns.Labels {
			if above, is := strings.CutSuffix(key, hncv1alpha2.LabelTreeDepthSuffix); is && above != ns.Name {
				in[ns.Name], in[above] = true, true
			}
		}
	}
	return len(in)
}

// baseline is how the objects were when Holdfast took over.
type baseline struct {
	Time  metav1.Time    `json:"time"`
	Lists []baselineList `json:"lists"`
}

type baselineList struct {
	Resource string `json:"resource"`
	// Version of the list: objects that were written since have a newer one.
	Version string `json:"version"`
	Objects int    `json:"objects"`
}

func (l lists) baseline(now time.Time) *baseline {
	out := &baseline{Time: metav1.NewTime(now)}
	for _, one := range l.all() {
		out.Lists = append(out.Lists, baselineList{one.resource, one.version, len(one.objects)})
	}
	return out
}

// TreesReport is what became of the objects since Holdfast took over.
type TreesReport struct {
	counts  `json:",inline"`
	Objects []ObjectsReport `json:"objects"`
}

// ObjectsReport is about the objects of one kind.
type ObjectsReport struct {
	Resource string `json:"resource"`
	Before   int    `json:"before"`
	Now      int    `json:"now"`
	// Written are those that anybody wrote since, and ByHoldfast those of them that
	// Holdfast did.
	Written    int      `json:"written"`
	ByHoldfast []string `json:"byHoldfast,omitempty"`
}

// same says whether nothing has happened.
func (r *TreesReport) same() bool {
	return !slices.ContainsFunc(r.Objects, func(o ObjectsReport) bool { return o.Written > 0 || o.Before != o.Now })
}

// since compares the objects with what they were.
func (l lists) since(b *baseline) *TreesReport {
	out := &TreesReport{counts: l.counts(), Objects: []ObjectsReport{}}
	for _, one := range l.all() {
		i := slices.IndexFunc(b.Lists, func(was baselineList) bool { return was.Resource == one.resource })
		if i < 0 {
			continue // it was not copied then
		}
		r := ObjectsReport{Resource: one.resource, Before: b.Lists[i].Objects, Now: len(one.objects)}
		for j := range one.objects {
			o := &one.objects[j]
			if !resourceversion.Newer(o.ResourceVersion, b.Lists[i].Version) {
				continue
			}
			r.Written++
			if wrote(o, b.Time) {
				r.ByHoldfast = append(r.ByHoldfast, strings.TrimPrefix(o.Namespace+"/"+o.Name, "/"))
			}
		}
		out.Objects = append(out.Objects, r)
	}
	return out
}

// wrote says whether Holdfast has written an object since.
func wrote(o *metav1.PartialObjectMetadata, since metav1.Time) bool {
	return slices.ContainsFunc(o.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == writer && f.Time != nil && !f.Time.Before(new(metav1.NewTime(since.Truncate(time.Second))))
	})
}

// settling is how long nothing has to change until what is compared has settled.
const settling = 3 * time.Second

func (h *handover) lookCompare(context.Context) (bool, string, error) {
	return false, "see which objects Holdfast has written", nil
}

// compare says what Holdfast has written since it took over.
func (h *handover) compare(ctx context.Context) (string, error) {
	r, err := h.load(ctx)
	if err != nil {
		return "", err
	}
	if r.Before == nil {
		return "there is nothing to compare with: Holdfast kept the trees before this command was run", nil
	}
	if h.said.Trees, err = h.settled(ctx, r.Before); err != nil {
		return "", err
	}
	return h.said.Trees.String(), nil
}

// settled compares until what Holdfast may have to write is written.
func (h *handover) settled(ctx context.Context, b *baseline) (*TreesReport, error) {
	var last *TreesReport
	var since time.Time
	err := h.until(ctx, func(ctx context.Context) (string, error) {
		l, err := h.lists(ctx)
		if err != nil {
			return "", err
		}
		if now := l.since(b); last == nil || !sameJSON(last, now) {
			last, since = now, time.Now()
		}
		if time.Since(since) >= settling {
			return "", nil
		}
		return "objects are still being written", nil
	})
	if last != nil && ctx.Err() == nil {
		return last, nil // it is as good as it gets
	}
	return nil, err
}

func (r *TreesReport) String() string {
	var wrote, others, gone []string
	for _, o := range r.Objects {
		if n := len(o.ByHoldfast); n > 0 {
			wrote = append(wrote, fmt.Sprintf("%d of %d %s (%s)", n, o.Now, o.Resource, few(o.ByHoldfast)))
		}
		if n := o.Written - len(o.ByHoldfast); n > 0 {
			others = append(others, fmt.Sprintf("%d %s", n, o.Resource))
		}
		if n := o.Before - o.Now; n > 0 {
			gone = append(gone, fmt.Sprintf("%d %s", n, o.Resource))
		}
	}
	out := "since it took over Holdfast has written none of the objects: " + r.counts.String()
	if len(wrote) > 0 {
		out = "since it took over Holdfast has written " + strings.Join(wrote, ", ") + ". There are " + r.counts.String()
	}
	if len(others) > 0 {
		out += ". Others have written " + strings.Join(others, ", ")
	}
	if len(gone) > 0 {
		out += ". There are fewer of " + strings.Join(gone, ", ")
	}
	return out
}
