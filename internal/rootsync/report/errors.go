// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
)

// reported are errors as the status has them, one in so many, and how many there are.
func reported(errs []*knv.Error, share int) ([]configsyncv1beta1.Error, *configsyncv1beta1.ErrorSummary) {
	all := knv.Sorted(errs)
	kept := all[:len(all)/share]
	var out []configsyncv1beta1.Error
	for _, e := range kept {
		out = append(out, configsyncv1beta1.Error{Code: string(e.Code), ErrorMessage: e.Message(), Resources: resources(e.Resources)})
	}
	return out, &configsyncv1beta1.ErrorSummary{TotalCount: len(all), Truncated: len(kept) < len(all), ErrorCountAfterTruncation: len(kept)}
}

func resources(list []knv.Resource) []configsyncv1beta1.ErrorResource {
	var out []configsyncv1beta1.ErrorResource
	for _, r := range list {
		out = append(out, configsyncv1beta1.ErrorResource{
			SourcePath: r.Path, Name: r.Name, Namespace: r.Namespace,
			GVK: metav1.GroupVersionKind{Group: r.GVK.Group, Version: r.GVK.Version, Kind: r.GVK.Kind},
		})
	}
	return out
}

// countUntil counts the errors of a stage and of those before it, which are about the
// same commit. Those after it are still about the one before.
func countUntil(last Stage, stages [3]*configsyncv1beta1.StageStatus) ([]configsyncv1beta1.ErrorSource, *configsyncv1beta1.ErrorSummary) {
	names := [3]configsyncv1beta1.ErrorSource{configsyncv1beta1.SourceErrors, configsyncv1beta1.RenderingErrors, configsyncv1beta1.SyncErrors}
	var sources []configsyncv1beta1.ErrorSource
	sum := &configsyncv1beta1.ErrorSummary{}
	for i, stage := range stages[:last+1] {
		if stage.ErrorSummary == nil || stage.ErrorSummary.TotalCount == 0 {
			continue
		}
		sources = append(sources, names[i])
		sum.TotalCount += stage.ErrorSummary.TotalCount
		sum.ErrorCountAfterTruncation += stage.ErrorSummary.ErrorCountAfterTruncation
		sum.Truncated = sum.Truncated || stage.ErrorSummary.Truncated
	}
	return sources, sum
}
