// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestSelectKinds(t *testing.T) {
	t.Parallel()
	all := metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}
	lists := []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: all},
			{Name: "namespaces", Kind: "Namespace", Verbs: all},
			{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: all},
			{Name: "pods/status", Kind: "Pod", Namespaced: true, Verbs: all},
			{Name: "events", Kind: "Event", Namespaced: true, Verbs: all},
			{Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
		}},
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment", Namespaced: true, Verbs: all}}},
		{GroupVersion: "coordination.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "leases", Kind: "Lease", Namespaced: true, Verbs: all}}},
		{GroupVersion: "events.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "events", Kind: "Event", Namespaced: true, Verbs: all}}},
		{GroupVersion: "metrics.k8s.io/v1beta1", APIResources: []metav1.APIResource{
			{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}},
		}},
	}
	tests := []struct {
		name   string
		filter kindFilter
		want   string
	}{
		{"namespaced kinds that can be labelled", kindFilter{verbs: []string{"list", "patch"}}, "configmaps pods deployments.apps"},
		{"all kinds that can be deleted", kindFilter{verbs: []string{"list", "delete"}, clusterScoped: true}, "configmaps namespaces pods deployments.apps"},
		{"kinds that can be listed", kindFilter{verbs: []string{"list"}}, "configmaps pods deployments.apps pods.metrics.k8s.io"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, k := range selectKinds(lists, tt.filter) {
				got = append(got, k.GroupResource().String())
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestListErrors(t *testing.T) {
	t.Parallel()
	k := func(group, resource string) kind {
		return kind{GroupVersionResource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}}
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
	got := listErrors(map[kind]error{
		k("", "secrets"):          forbidden,
		k("apps", "deployments"):  forbidden,
		k("shop.example", "cars"): errors.New("conversion webhook failed"),
	})
	want := []string{
		"cars.shop.example were left out: conversion webhook failed",
		"you may not list these kinds, and they were left out: secrets, deployments.apps; ask for the RBAC verb list on them",
	}
	var texts []string
	for _, err := range got {
		texts = append(texts, err.Error())
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestLeftOutNote(t *testing.T) {
	t.Parallel()
	for want, in := range map[string][]string{
		"1 object that controllers make was left out: pods 1":                {"pods"},
		"3 objects that controllers make were left out: endpoints 1, pods 2": {"pods", "endpoints", "pods"},
	} {
		if diff := cmp.Diff(want, leftOutNote(in)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}
