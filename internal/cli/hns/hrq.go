// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"errors"

	"github.com/spf13/cobra"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

var errNoQuotas = errors.New("there are no " + hncv1alpha2.KindHierarchicalResourceQuota + "s to show, because Holdfast does not serve them; " +
	"on a cluster with HNC use: kubectl get " + hncv1alpha2.ResourceHierarchicalResourceQuotas + "." + hncv1alpha2.GroupName)

func newHRQCommand(*client) *cobra.Command {
	return &cobra.Command{
		Use:   "hrq",
		Short: "Not served: quotas of trees",
		Long: `HNC's plugin shows HierarchicalResourceQuotas here. Holdfast does not serve them,
and this command fails and says so, whatever its flags.`,
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return errNoQuotas },
	}
}
