// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/builtin"
	"github.com/holdfast-dev/holdfast/internal/deletion/contents"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	matching "github.com/holdfast-dev/holdfast/internal/deletion/selection"
)

// fileUID begins the UIDs that objects of files are given.
const fileUID = "file:"

// explainFiles explains the objects of files, which take the place of a cluster.
func (c *clients) explainFiles(_ context.Context, o *whyDeleteOptions) ([]explanation, []error, error) {
	objects, err := c.readFiles(o.files)
	if err != nil {
		return nil, nil, err
	}
	w, err := worldOf(objects, c.flagNamespace())
	if err != nil {
		return nil, nil, err
	}
	var out []explanation
	for _, t := range w.objects {
		if !named(t, o.args, c.flagNamespace()) {
			continue
		}
		x := explainDelete(w.facts(t))
		x.nested = len(o.args) == 0 && w.nested(t)
		out = append(out, x)
	}
	if len(out) == 0 {
		return nil, nil, fmt.Errorf("there is no such object in %s", strings.Join(o.files, ", "))
	}
	c.Notef("note: no cluster was asked: Holdfast is assumed to be installed, to read all labels and to enforce")
	return out, nil, nil
}

// flagNamespace is the namespace of -n, or default. A kubeconfig is not read.
func (c *clients) flagNamespace() string {
	if ns := *c.Flags.Namespace; ns != "" {
		return ns
	}
	return metav1.NamespaceDefault
}

func (c *clients) readFiles(files []string) ([]*unstructured.Unstructured, error) {
	infos, err := resource.NewLocalBuilder().
		Unstructured().
		ContinueOnError().
		FilenameParam(false, &resource.FilenameOptions{Filenames: files}).
		Flatten().
		Do().
		Infos()
	if err != nil {
		return nil, fmt.Errorf("read the files: %w", err)
	}
	var out []*unstructured.Unstructured
	for _, info := range infos {
		o, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("%s: cannot read a %T", info.Source, info.Object)
		}
		out = append(out, o)
	}
	return out, nil
}

// worldOf makes a world of the objects of files. One without a namespace that
// needs one is in the default namespace.
func worldOf(objects []*unstructured.Unstructured, defaultNamespace string) (*world, error) {
	kinds := newFileKinds(objects)
	set := matching.NewSet()
	var found []target
	for i, o := range objects {
		if o.GroupVersionKind().GroupKind() == protectionsKind.groupKind() {
			all, err := convert[v1alpha1.ResourceDeletionProtection]([]unstructured.Unstructured{*o})
			if err != nil {
				return nil, err
			}
			if err := putAll(set, all); err != nil {
				return nil, err
			}
		}
		var m metav1.PartialObjectMetadata
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &m); err != nil {
			return nil, fmt.Errorf("read %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		k := kinds.of(o.GroupVersionKind())
		switch {
		case !k.Namespaced:
			m.Namespace = ""
		case m.Namespace == "":
			m.Namespace = defaultNamespace
		}
		if m.UID == "" {
			m.UID = types.UID(fileUID + fmt.Sprint(i))
		}
		t := newTarget(k, &m)
		t.use = useInFile(k.GroupResource(), o.Object)
		found = append(found, t)
	}
	findOwners(found)
	if err := findClaims(found, objects); err != nil {
		return nil, err
	}
	return newWorld(enforcement{Problem: "no cluster was asked"}, set, nil, found), nil
}

// useInFile says whether an object shows that it is in use. Of a Namespace and a
// definition, what is in the files does not tell.
func useInFile(r schema.GroupResource, o map[string]any) use {
	if !policy.CanBeUsed(r) || r == namespacesKind.GroupResource() || r == crdsKind.GroupResource() {
		return useUnknown
	}
	if _, ok := o["status"]; !ok && (r.Resource == "services" || r.Resource == "ingresses") {
		return useUnknown
	}
	return useOf(policy.Used(r, o))
}

// findOwners gives owner references the UIDs of the objects that they mean: in
// files most have none, or that of a cluster.
func findOwners(found []target) {
	known := sets.New[types.UID]()
	for _, t := range found {
		known.Insert(t.meta.UID)
	}
	for _, t := range found {
		for i := range t.meta.OwnerReferences {
			r := &t.meta.OwnerReferences[i]
			if known.Has(r.UID) {
				continue
			}
			if j := slices.IndexFunc(found, func(o target) bool { return isOwner(o, t, *r) }); j >= 0 {
				r.UID = found[j].meta.UID
			} else if r.UID == "" {
				r.UID = types.UID("absent:" + r.Kind + "/" + r.Name)
			}
		}
	}
}

// findClaims gives volumes the claims that they name. In files a volume has no status, and is taken to be bound.
func findClaims(found []target, objects []*unstructured.Unstructured) error {
	for i := range found {
		if found[i].kind.GroupResource() != policy.Volumes {
			continue
		}
		volumes, err := convert[corev1.PersistentVolume]([]unstructured.Unstructured{*objects[i]})
		if err != nil {
			return err
		}
		v := &volumes[0]
		if v.Spec.ClaimRef == nil || v.Spec.PersistentVolumeReclaimPolicy == "" { // by default Retain
			continue
		}
		v.Status.Phase = corev1.VolumeBound
		for _, t := range found {
			if t.kind.GroupResource() == policy.Claims && t.meta.Namespace == v.Spec.ClaimRef.Namespace && t.meta.Name == v.Spec.ClaimRef.Name {
				v.Spec.ClaimRef.UID = t.meta.UID
			}
		}
		found[i].claim = contents.ClaimOf(v)
	}
	return nil
}

func isOwner(o, t target, r metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	return err == nil && o.kind.groupKind() == schema.GroupKind{Group: gv.Group, Kind: r.Kind} && o.meta.Name == r.Name &&
		(o.meta.Namespace == "" || o.meta.Namespace == t.meta.Namespace)
}

// facts are about somebody who may delete, and holds no right of Holdfast's.
func (w *world) facts(t target) deleteFacts {
	b := w.below(t)
	if b.Relation != relationDependents {
		b.Others = new(0) // all are among the items
	}
	if t.use == useUnknown && b.Relation == relationInstances {
		t.use = useOf(len(b.Items) > 0)
	}
	return deleteFacts{
		whyFacts:        whyFacts{offline: true, enforcement: w.enforcement, anchor: anchorUnknown, protections: w.protections},
		target:          t,
		mayDelete:       access{Allowed: true, Reason: "not asked"},
		namespaceLabels: w.namespaces[t.meta.Namespace],
		selecting:       w.selecting(t),
		below:           &b,
	}
}

// nested says whether another object's tree shows this one.
func (w *world) nested(t target) bool {
	return slices.ContainsFunc(w.objects, func(o target) bool {
		switch relationOf(o.kind.GroupResource()) {
		case relationContents:
			return t.meta.Namespace == o.meta.Name
		case relationInstances:
			return t.kind.GroupResource() == schema.ParseGroupResource(o.meta.Name)
		}
		circle := o.meta.UID == t.meta.UID || slices.Contains(w.index.Ancestors(o.meta.UID), t.meta.UID)
		return !circle && slices.Contains(ownersOf(t.meta), o.meta.UID)
	})
}

// named says whether the arguments name an object: TYPE NAME or TYPE/NAME, with
// the type as in its kind or its resource. Without arguments every object is.
func named(t target, args []string, namespace string) bool {
	if len(args) == 0 {
		return true
	}
	if t.meta.Namespace != "" && t.meta.Namespace != namespace {
		return false
	}
	for i, arg := range args {
		kind, name, ok := strings.Cut(arg, "/")
		if !ok {
			if i == 0 {
				continue
			}
			kind, name = args[0], arg
		}
		if name == t.meta.Name && slices.Contains([]string{strings.ToLower(t.kind.Kind), t.kind.Resource, t.kind.GroupResource().String()}, strings.ToLower(kind)) {
			return true
		}
	}
	return false
}

// fileKinds says what kinds are called in a URL and which have a namespace,
// without asking a cluster.
type fileKinds map[schema.GroupKind]kind

// newFileKinds reads what the definitions among the objects say of their kinds.
func newFileKinds(objects []*unstructured.Unstructured) fileKinds {
	out := fileKinds{}
	for _, o := range objects {
		if o.GroupVersionKind().GroupKind() != crdsKind.groupKind() {
			continue
		}
		text := func(path ...string) string {
			s, _, _ := unstructured.NestedString(o.Object, path...)
			return s
		}
		group, name := text("spec", "group"), text("spec", "names", "kind")
		k := kind{Kind: name, Namespaced: text("spec", "scope") != "Cluster"}
		k.Group, k.Resource = group, text("spec", "names", "plural")
		out[k.groupKind()] = k
	}
	return out
}

func (f fileKinds) of(gvk schema.GroupVersionKind) kind {
	k, ok := f[gvk.GroupKind()]
	if ok {
		k.Version = gvk.Version
		return k
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return kind{GroupVersionResource: plural, Kind: gvk.Kind, Namespaced: !builtin.ClusterScoped(gvk.GroupKind())}
}
