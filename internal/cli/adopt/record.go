// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// RecordName is the ConfigMap beside Holdfast that has what HNC was.
const RecordName = "holdfast-adopted-hnc"

// The keys of the record. What is in the first can be given to kubectl create.
const (
	webhooksKey = "webhooks.yaml"
	replicasKey = "replicas.yaml"
	beforeKey   = "before.yaml"
	// clusterAnnotation says of which cluster it is, by the UID of kube-system: a file
	// can lie about.
	clusterAnnotation = "holdfast.dev/cluster"
)

// record is what HNC was.
type record struct {
	// Webhooks are webhook configurations, ready to be made again.
	Webhooks []map[string]any
	Replicas []replicas
	// Before are the objects as they were when Holdfast took over.
	Before *baseline

	object   *corev1.ConfigMap // as it was read; nil if there is none in the cluster
	fromFile bool              // some of it is in a file alone
}

// replicas of a Deployment.
type replicas struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Replicas  int32  `json:"replicas"`
}

func (r replicas) String() string { return r.Namespace + "/" + r.Name }

// load reads what is kept, in the cluster and in a file.
func (h *handover) load(ctx context.Context) (*record, error) {
	out := &record{}
	o, err := h.kube.CoreV1().ConfigMaps(h.Namespace).Get(ctx, RecordName, metav1.GetOptions{})
	switch {
	case err == nil:
		out.object = o
		if err := out.decode(o); err != nil {
			return nil, fmt.Errorf("read ConfigMap %s/%s: %w", h.Namespace, RecordName, err)
		}
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("read what is kept of HNC: %w", err)
	}
	file, err := h.loadFile(ctx)
	if err != nil {
		return nil, err
	}
	if file != nil {
		for _, w := range file.Webhooks {
			out.fromFile = out.addWebhook(w, false) || out.fromFile
		}
	}
	return out, nil
}

func (r *record) decode(o *corev1.ConfigMap) error {
	for key, into := range map[string]any{webhooksKey: &webhookList{}, replicasKey: &r.Replicas, beforeKey: &r.Before} {
		if err := yaml.Unmarshal([]byte(o.Data[key]), into); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if list, is := into.(*webhookList); is {
			r.Webhooks = list.Items
		}
	}
	return nil
}

// webhookList is how webhook configurations are kept.
type webhookList struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Items      []map[string]any `json:"items"`
}

// addWebhook adds one, and says whether it was not there; newer replaces one of the
// same name.
func (r *record) addWebhook(manifest map[string]any, newer bool) bool {
	i := slices.IndexFunc(r.Webhooks, func(w map[string]any) bool { return idOf(w) == idOf(manifest) })
	switch {
	case i < 0:
		r.Webhooks = append(r.Webhooks, manifest)
	case newer:
		r.Webhooks[i] = manifest
	}
	return i < 0
}

// id names an object.
type id struct{ kind, name string }

func (i id) String() string { return i.kind + " " + i.name }

func idOf(manifest map[string]any) id {
	kind, _ := manifest["kind"].(string)
	meta, _ := manifest["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return id{kind, name}
}

// take takes in what there is of HNC. Deployments that are scaled to nothing keep
// what is known of them: it was a hand-over that did it.
func (r *record) take(f found) {
	for _, w := range f.webhooks {
		r.addWebhook(w.manifest, true)
	}
	for i := range f.deployments {
		d := &f.deployments[i]
		is := replicas{d.Namespace, d.Name, ptr.Deref(d.Spec.Replicas, 1)}
		at := slices.IndexFunc(r.Replicas, func(o replicas) bool { return o.String() == is.String() })
		switch {
		case at < 0:
			r.Replicas = append(r.Replicas, is)
		case is.Replicas > 0:
			r.Replicas[at] = is
		}
	}
}

func (h *handover) encode(ctx context.Context, r *record) (*corev1.ConfigMap, error) {
	cluster, err := h.cluster(ctx)
	if err != nil {
		return nil, err
	}
	o := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: h.Namespace, Name: RecordName,
			Labels:      map[string]string{"app.kubernetes.io/part-of": "holdfast"},
			Annotations: map[string]string{clusterAnnotation: cluster},
		},
		Data: map[string]string{},
	}
	for key, value := range map[string]any{
		webhooksKey: webhookList{"v1", "List", r.Webhooks}, replicasKey: r.Replicas, beforeKey: r.Before,
	} {
		text, err := yaml.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("write down what HNC is: %w", err)
		}
		o.Data[key] = string(text)
	}
	return o, nil
}

// keep writes the record into the cluster, if it says something new.
func (h *handover) keep(ctx context.Context, r *record) error {
	o, err := h.encode(ctx, r)
	if err != nil {
		return err
	}
	client := h.kube.CoreV1().ConfigMaps(h.Namespace)
	switch {
	case r.object == nil:
		r.object, err = client.Create(ctx, o, metav1.CreateOptions{FieldManager: fieldManager})
	case maps.Equal(r.object.Data, o.Data):
		return nil
	default:
		o.ResourceVersion = r.object.ResourceVersion
		r.object, err = client.Update(ctx, o, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	if err != nil {
		return fmt.Errorf("keep what HNC is in ConfigMap %s/%s: %w", h.Namespace, RecordName, err)
	}
	return nil
}

// keepFile writes the record into a file, which is a manifest of the ConfigMap.
func (h *handover) keepFile(ctx context.Context, r *record) error {
	o, err := h.encode(ctx, r)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(o)
	if err != nil {
		return err
	}
	const mode = 0o600
	if err := os.WriteFile(h.Record, text, mode); err != nil {
		return fmt.Errorf("keep what HNC is in a file: %w; give another with --record", err)
	}
	return nil
}

// loadFile reads the file; nil if there is none.
func (h *handover) loadFile(ctx context.Context) (*record, error) {
	text, err := os.ReadFile(h.Record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	if err != nil {
		return nil, fmt.Errorf("read what is kept of HNC: %w", err)
	}
	var o corev1.ConfigMap
	out := &record{}
	if err := yaml.UnmarshalStrict(text, &o); err != nil || o.Name != RecordName {
		return nil, fmt.Errorf("the file %s is in the way: this command did not write it; give another with --record", h.Record)
	}
	cluster, err := h.cluster(ctx)
	if err != nil {
		return nil, err
	}
	if of := o.Annotations[clusterAnnotation]; of != cluster {
		return nil, fmt.Errorf("the file %s is of another cluster: move it away, or give another with --record", h.Record)
	}
	if err := out.decode(&o); err != nil {
		return nil, fmt.Errorf("read %s: %w", h.Record, err)
	}
	return out, nil
}

func (h *handover) cluster(ctx context.Context) (string, error) {
	o, err := h.kube.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read which cluster this is: %w", err)
	}
	return string(o.UID), nil
}

// ids of all webhook configurations that are kept.
func (r *record) ids() (out []id) {
	for _, w := range r.Webhooks {
		out = append(out, idOf(w))
	}
	slices.SortFunc(out, func(a, b id) int { return strings.Compare(a.String(), b.String()) })
	return out
}
