// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
)

// ErrProblems is that a cluster has problems, which were reported.
var ErrProblems = errors.New("there are problems")

// Trouble is that a cluster, or a part of one, could not be looked at.
type Trouble struct{ error }

// Unwrap returns what it is about.
func (e Trouble) Unwrap() error { return e.error }

// Options of a check.
type Options struct {
	// Namespace is the one that Holdfast is installed in.
	Namespace string
	// Configuration is the HoldfastConfiguration to go by; empty for the one in force, or
	// the defaults where there is none.
	Configuration string
	// Version is that of the plugin.
	Version string
	Output  string
}

// Target is one cluster to look at.
type Target struct {
	Context  string
	Clients  *connect.Clients
	Counters Counters
}

// Run looks at clusters, one after the other, and says what it has found.
func Run(ctx context.Context, s *ui.Streams, o Options, targets []Target) error {
	report := &Report{TypeMeta: metav1.TypeMeta{APIVersion: "cli.holdfast.dev/v1alpha1", Kind: "HoldfastCheck"}}
	for _, t := range targets {
		c := Cluster{Context: t.Context, Findings: []Finding{}}
		if err := t.look(ctx, o, &c); err != nil {
			c.NotLookedAt = append(c.NotLookedAt, Gap{"the cluster", err.Error()})
		}
		report.Clusters = append(report.Clusters, c)
		if o.Output == "" {
			show(s, &c, len(targets) > 1)
		}
	}
	if o.Output != "" {
		if err := s.Encode(o.Output, report); err != nil {
			return Trouble{err}
		}
	}
	switch problems, gaps := report.verdict(); {
	case gaps:
		return Trouble{errors.New("not everything could be looked at")}
	case problems:
		return ErrProblems
	}
	return nil
}

// look fills in what is found in a cluster.
func (t Target) look(ctx context.Context, o Options, c *Cluster) error {
	restConfig, err := t.Clients.Config()
	if err != nil {
		return err
	}
	c.Server = restConfig.Host
	r, err := newReader(restConfig)
	if err != nil {
		return err
	}
	defer func() { c.NotLookedAt = r.gaps }()
	f, err := r.facts(ctx, o.Namespace)
	if err != nil {
		return err
	}
	c.Kubernetes = f.version
	if f.holdfast != nil {
		c.Holdfast = f.holdfast.Status.Version
	}
	by, err := configuration(f, o.Configuration)
	if err != nil {
		return err
	}
	secret := by.Certificates.SecretName
	r.certificate(ctx, f, secret)
	c.Findings = slices.Concat(kubernetesVersion(f), installation(f, o.Version), certificates(f, secret, time.Now()), others(f, by), home(f), unrecognized(f, by.Deletion.WorkloadControllers), unbounded(f, by.Hierarchy.Mode))
	c.Features, err = r.features(ctx, f, by, t.Counters)
	return err
}

// configuration is what the features are judged by. One that Holdfast has written may be of
// another version, and what is not known of it is passed over.
func configuration(f *facts, given string) (*configv1alpha1.HoldfastConfiguration, error) {
	if given == "" {
		if c, err := connect.InForce(f.holdfast); c != nil || err != nil {
			return c, err
		}
	}
	c, err := config.Load([]byte(cmp.Or(given, config.Empty)))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return c, nil
}
