// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package occupants finds what runs in a namespace and nobody has declared: who takes the
// namespace away takes that along. The sync asks before it does, and whoever wants to know
// what the sync would do.
package occupants

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// workloads are the kinds of what runs in a namespace.
var workloads = []struct {
	kind     string
	resource schema.GroupVersionResource
}{
	{"Deployment", appsv1.SchemeGroupVersion.WithResource("deployments")},
	{"StatefulSet", appsv1.SchemeGroupVersion.WithResource("statefulsets")},
	{"DaemonSet", appsv1.SchemeGroupVersion.WithResource("daemonsets")},
	{"ReplicaSet", appsv1.SchemeGroupVersion.WithResource("replicasets")},
	{"CronJob", batchv1.SchemeGroupVersion.WithResource("cronjobs")},
	{"Job", batchv1.SchemeGroupVersion.WithResource("jobs")},
	{"ReplicationController", corev1.SchemeGroupVersion.WithResource("replicationcontrollers")},
	{"Pod", corev1.SchemeGroupVersion.WithResource("pods")},
}

// page is how many workloads of a kind are asked for at once.
const page = 500

// Of are the workloads in a namespace that no RootSync has, and no other object.
func Of(ctx context.Context, client metadata.Interface, namespace string) ([]string, error) {
	var out []string
	for _, w := range workloads {
		of := client.Resource(w.resource).Namespace(namespace)
		for more := ""; ; {
			list, err := of.List(ctx, metav1.ListOptions{Limit: page, Continue: more})
			if err != nil {
				return nil, fmt.Errorf("look for a %s in the namespace: %w", w.kind, err)
			}
			for i := range list.Items {
				if free(&list.Items[i]) {
					out = append(out, w.kind+" "+list.Items[i].Name)
				}
			}
			if more = list.Continue; more == "" {
				break
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

func free(o *metav1.PartialObjectMetadata) bool {
	return len(o.OwnerReferences) == 0 && o.DeletionTimestamp == nil && o.Annotations[object.AnnotationManager] == ""
}
