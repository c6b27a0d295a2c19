// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// contested are the namespaces that a RootSync declares and has, and others declare as
// well: the others have an error, and this is how it hears of it too. It is nil as long as
// not all have said what they want, or it has not.
func (r *runner) contested(ctx context.Context, rs *configsyncv1beta1.RootSync) map[string][]object.Sync {
	out := map[string][]object.Sync{}
	if rs.DeletionTimestamp != nil {
		return out
	}
	if !r.s.registry.Complete() || !r.s.registry.Said(r.sync) {
		return nil
	}
	for _, name := range r.s.registry.Of(r.sync) {
		if !r.s.registry.Stakes(name).Contested(r.sync) {
			continue
		}
		ruling, err := r.s.spaces.ruling(ctx, name)
		if err != nil {
			ctrl.LoggerFrom(ctx).V(1).Info("Nobody knows who declares a namespace", "namespace", name, "error", err.Error())
			return nil
		}
		if ruling.Open {
			return nil
		}
		if rivals := ruling.Rivals(r.sync); ruling.Owner == r.sync && len(rivals) > 0 {
			out[name] = rivals
		}
	}
	return out
}
