// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
)

// noteMoves says which namespaces are in a tree with HNC and not with Holdfast, or
// the other way round: Holdfast would write them, and copies in them would go.
func (h *handover) noteMoves(ctx context.Context, a *arguments) error {
	holdfast, err := h.willManage(ctx)
	if err != nil {
		return err
	}
	hnc, err := h.managedByHNC(a)
	if err != nil {
		return err
	}
	all, err := h.list(ctx, corev1.SchemeGroupVersion.WithResource("namespaces"), "")
	if err != nil {
		return err
	}
	var leave, enter []string
	for i := range all.objects {
		switch o := &all.objects[i]; {
		case o.Name == h.Namespace:
		case hnc(o) && !holdfast(o):
			leave = append(leave, o.Name)
		case !hnc(o) && holdfast(o):
			enter = append(enter, o.Name)
		}
	}
	if len(leave) > 0 {
		h.note(fmt.Sprintf("with this configuration Holdfast leaves out %d namespaces that HNC has, and takes HNC's labels and copies away there: %s", len(leave), few(leave)))
	}
	if len(enter) > 0 {
		h.note(fmt.Sprintf("with this configuration Holdfast takes in %d namespaces that HNC leaves out, and labels them: %s", len(enter), few(enter)))
	}
	return nil
}

// managedByHNC says which namespaces HNC has in trees: by its arguments or, where
// they are not known, by its label.
func (h *handover) managedByHNC(a *arguments) (func(*metav1.PartialObjectMetadata) bool, error) {
	if a == nil {
		return func(o *metav1.PartialObjectMetadata) bool {
			return o.Labels[hncv1alpha2.LabelIncludedNamespace] == hncv1alpha2.ValueTrue
		}, nil
	}
	c := &configv1alpha1.HoldfastConfiguration{Hierarchy: a.Hierarchy}
	configv1alpha1.SetDefaults(c)
	s, err := settings.New(c, h.Namespace, nil)
	if err != nil {
		return nil, err
	}
	return func(o *metav1.PartialObjectMetadata) bool { return s.Managed(o.Name) }, nil
}

// willManage says which namespaces Holdfast is to have in trees, with the
// configuration that the hand-over gives it.
func (h *handover) willManage(ctx context.Context) (func(*metav1.PartialObjectMetadata) bool, error) {
	text, _, err := h.told(ctx)
	if err != nil {
		return nil, err
	}
	if text, err = h.wanted(ctx, text); err != nil {
		return nil, err
	}
	return h.managed(text)
}

// managed says which namespaces a configuration has in trees.
func (h *handover) managed(text string) (func(*metav1.PartialObjectMetadata) bool, error) {
	c, err := loader.Load([]byte(text))
	if err != nil {
		return nil, err
	}
	s, err := settings.New(c, h.Namespace, nil)
	if err != nil {
		return nil, err
	}
	return func(o *metav1.PartialObjectMetadata) bool { return s.Managed(o.Name) }, nil
}
