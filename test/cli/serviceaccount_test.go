// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/http"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	plugin "github.com/holdfast-dev/holdfast/internal/cli/serviceaccount"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func testPlanReads(t *testing.T, env *testkit.Env) {
	ns := env.Namespace(t)
	env.Apply(t, ns, "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnect\nmetadata: {name: shop}\n"+
		"spec: {template: {serviceAccount: {metadata: {annotations: {iam.gke.io/gcp-service-account: a@b}}}}}\n")
	env.Apply(t, ns, "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: shop-connect, annotations: {iam.gke.io/gcp-service-account: other}}\n")
	for _, args := range [][]string{{"plan", "-n", ns}, {"plan", "-A", "--all"}, {"plan", "-A", "--existing=Replace", "-o", "json"}} {
		asked := requestsOf(t, env, command, args...)
		if len(asked) == 0 {
			t.Errorf("%v has asked nobody", args)
		}
		for _, r := range asked {
			if r.Method != http.MethodGet {
				t.Errorf("%v: %s %s", args, r.Method, r.URL)
			}
		}
	}
}

// command is the one of the plugin, with the flags that its root has.
func command(s *ui.Streams, flags *genericclioptions.ConfigFlags) *cobra.Command {
	cmd := plugin.Command(s, flags)
	flags.AddFlags(cmd.PersistentFlags())
	return cmd
}
