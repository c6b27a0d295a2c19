// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"time"

	"github.com/spf13/pflag"
)

// ignored is a flag of HNC that means nothing here.
type ignored struct {
	name string
	// add adds a flag that takes the values that HNC's takes.
	add func(*pflag.FlagSet)
	// why it has no effect, or what to use instead.
	why string
	// quiet are values that ask for nothing.
	quiet []string
}

var off = []string{"false"}

func boolean(name string, byDefault bool, why string, quiet ...string) ignored {
	return ignored{name: name, why: why, quiet: quiet, add: func(fs *pflag.FlagSet) { fs.Bool(name, byDefault, "") }}
}

func number(name string, byDefault int, why string) ignored {
	return ignored{name: name, why: why, add: func(fs *pflag.FlagSet) { fs.Int(name, byDefault, "") }}
}

func text(name, byDefault, why string) ignored {
	return ignored{name: name, why: why, add: func(fs *pflag.FlagSet) { fs.String(name, byDefault, "") }}
}

// unused are all flags of HNC's manager that are not read. Those named namespace,
// health-probe-bind-address and kubeconfig are Holdfast's as well, with the same
// meaning.
var unused = []ignored{
	number("apiserver-qps-throttle", 50, "the API server's priority and fairness is the limit"),
	boolean("cert-restart-on-secret-refresh", false, "a renewed certificate is taken up without a restart", off...),
	boolean("debug-logs", false, "use --log-level=debug", off...),
	boolean("enable-internal-cert-management", false,
		"Holdfast issues its certificate itself; one that cert-manager keeps is for certificates.provider in the configuration", "true"),
	boolean("enable-leader-election", false, "it is on by default; see --leader-elect", off...),
	boolean("enable-stackdriver", true, "metrics are served for Prometheus, at --metrics-bind-address", off...),
	boolean("enable-test-log", false, "use --log-level=debug", off...),
	{
		name: "hrq-sync-interval", why: "Holdfast does not enforce HierarchicalResourceQuotas yet",
		add: func(fs *pflag.FlagSet) { fs.Duration("hrq-sync-interval", time.Minute, "") },
	},
	text("leader-election-id", "controller-leader-election-helper", "the lease is always named holdfast-guard"),
	number("max-reconciles", 1, "work is parallel, and bounded by the API server"),
	text("metrics-addr", ":8080", "use --metrics-bind-address"),
	boolean("no-webhooks", false, "every replica answers webhooks, and most rules are policies inside the API server; "+
		"hierarchy.mode in the configuration can have them warn or tell in place of refusing", off...),
	boolean("suppress-object-tags", true, "metrics never carry the kind of an object where that has no bound", "true"),
	number("webhook-server-port", 443, "use --webhook-bind-address"),
	boolean("webhooks-only", false, "every replica answers webhooks, and the one that leads writes", off...),
}
