// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render renders Holdfast's chart as Helm does, template by template.
package render

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Namespace that is rendered for.
const Namespace = "holdfast-system"

// Rendered is what each template of a chart makes; one that makes nothing is not
// there. Names are as in "guard/rbac.yaml".
type Rendered map[string]string

// Load reads the chart.
func Load(dir string) (*chartv2.Chart, error) { return loader.Load(dir) }

// Chart renders a chart with values, as YAML, after its schema has been asked.
func Chart(ctx context.Context, chart *chartv2.Chart, values string) (Rendered, error) {
	texts, err := all(ctx, chart, values)
	if err != nil {
		return nil, err
	}
	out := Rendered{}
	for name, text := range texts {
		if strings.HasSuffix(name, ".yaml") {
			out[name] = text
		}
	}
	return out, nil
}

// Notes are what Helm prints after an installation.
func Notes(ctx context.Context, chart *chartv2.Chart, values string) (string, error) {
	texts, err := all(ctx, chart, values)
	return texts["NOTES.txt"], err
}

// all is what each template makes, but for those that make nothing.
func all(ctx context.Context, chart *chartv2.Chart, values string) (map[string]string, error) {
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		return nil, fmt.Errorf("read values: %w", err)
	}
	full, err := util.ToRenderValues(chart, given, common.ReleaseOptions{Name: "holdfast", Namespace: Namespace, Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	texts, err := engine.Engine{}.RenderWithContext(ctx, chart, full)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for name, text := range texts {
		_, short, _ := strings.Cut(name, "/templates/")
		if text = strings.TrimSpace(text); text != "" {
			out[short] = text + "\n"
		}
	}
	return out, nil
}

// Text is what some templates make, or all where none is named, in one file.
func (r Rendered) Text(templates ...string) string {
	if len(templates) == 0 {
		for name := range r {
			templates = append(templates, name)
		}
		slices.Sort(templates)
	}
	var texts []string
	for _, name := range templates {
		if text, made := r[name]; made {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "---\n")
}

// Objects are those in a text that was rendered.
func Objects(text string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &o.Object); err != nil {
			return nil, fmt.Errorf("read what was rendered: %w:\n%s", err, document)
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
	return out, nil
}
