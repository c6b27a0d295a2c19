// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package propagate

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	holdfastv1alpha1 "github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
)

// Copied makes the copy of a source for a namespace: its content and its name,
// labels and annotations, without those of HNC, those that are the source's own and
// those that the Rules strip, and with two labels that say where it comes from. Status and all other
// metadata are not copied. The source stays as it is.
func (r Rules) Copied(source *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	c := r.canonical(source)
	labels := c.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[hncv1alpha2.LabelInheritedFrom] = source.GetNamespace()
	labels[hncv1alpha2.LabelManagedBy] = hncv1alpha2.ManagedBy
	c.SetLabels(labels)
	c.SetNamespace(namespace)
	return c
}

// UpToDate says whether an object in a cluster is the copy that it should be. What
// it has beyond a copy, a status, a UID and the like, does not count.
func UpToDate(have, copied *unstructured.Unstructured) bool {
	from, want := have.GetLabels()[hncv1alpha2.LabelInheritedFrom], copied.GetLabels()[hncv1alpha2.LabelInheritedFrom]
	return from == want && equality.Semantic.DeepEqual(Rules{}.canonical(have).Object, Rules{}.canonical(copied).Object)
}

// Digest stands for what an object and its copy have in common: two digests are
// the same if UpToDate would say yes, but for where the copy comes from.
type Digest [sha256.Size]byte

// DigestOf is that of an object in a cluster.
func DigestOf(have *unstructured.Unstructured) (Digest, error) {
	text, err := json.Marshal(Rules{}.shared(have).Object) // which puts keys in order
	if err != nil {
		return Digest{}, fmt.Errorf("digest of %s/%s: %w", have.GetNamespace(), have.GetName(), err)
	}
	return sha256.Sum256(text), nil
}

// Digest is that of the copies of a source.
func (r Rules) Digest(source *unstructured.Unstructured) (Digest, error) {
	return DigestOf(r.Copied(source, ""))
}

// canonical is what an object and its copy have in common.
func (r Rules) canonical(u *unstructured.Unstructured) *unstructured.Unstructured {
	return r.shared(u).DeepCopy()
}

// shared is what an object and its copy have in common, as parts of the object.
func (r Rules) shared(u *unstructured.Unstructured) *unstructured.Unstructured {
	content := make(map[string]any, len(u.Object))
	for field, value := range u.Object {
		if field != "metadata" && field != "status" {
			content[field] = value
		}
	}
	c := &unstructured.Unstructured{Object: content}
	c.SetName(u.GetName())
	c.SetLabels(kept(u.GetLabels(), r.StripLabels))
	annotations := u.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return OfController(key) })
	c.SetAnnotations(kept(annotations, r.StripAnnotations))
	return c
}

// controllers are the domains of annotations that the cluster's own controllers
// write on objects of users. What they say of one object is wrong of a copy.
var controllers = []string{
	"deployment.kubernetes.io", "endpoints.kubernetes.io", "pv.kubernetes.io", "volume.kubernetes.io", "volume.beta.kubernetes.io",
	"control-plane.alpha.kubernetes.io",
}

// daemonSetGeneration is one without a domain.
const daemonSetGeneration = "deprecated.daemonset.template.generation"

// OfController says whether an annotation belongs to the cluster's own controllers:
// it is neither copied nor taken off a copy. HNC copies them, and so takes turns
// with the controllers.
func OfController(annotation string) bool {
	domain, _, found := strings.Cut(annotation, "/")
	return found && slices.Contains(controllers, domain) || annotation == daemonSetGeneration
}

// own says whether a label or annotation is about one object and not about its
// copies: the marks of Holdfast, and what protects from deletion. A copy is protected
// by being one; with such a label it could not go when it should.
func own(key string) bool { return mark(key) || protects(key) }

func mark(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain == holdfastv1alpha1.GroupName && !protects(key) && key != holdfastv1alpha1.RestoredCopyAnnotation
}

func protects(key string) bool {
	return key == holdfastv1alpha1.DeletionProtectedLabel || key == holdfastv1alpha1.KarmadaDeletionProtectedLabel ||
		key == holdfastv1alpha1.KruiseDeletionProtectionLabel
}

// Staying are the labels and annotations of an object that stay on it when a copy is
// written over it. What protects it does not: where it may not be taken off, the object
// is not to become a copy.
func Staying(o metav1.Object) (labels, annotations map[string]string) {
	return only(o.GetLabels(), mark), only(o.GetAnnotations(), func(key string) bool { return mark(key) || OfController(key) })
}

// only is a part of a map; nil if there is nothing in it.
func only(m map[string]string, keep func(key string) bool) map[string]string {
	var out map[string]string
	for k, v := range m {
		if !keep(k) {
			continue
		}
		if out == nil {
			out = make(map[string]string, len(m))
		}
		out[k] = v
	}
	return out
}

// kept are the labels or annotations that are copied; nil if none is.
func kept(m map[string]string, strip map[string]bool) map[string]string {
	return only(m, func(key string) bool { return !tree.OfHNC(key) && !own(key) && !strip[key] })
}
