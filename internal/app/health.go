// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/status"
	"github.com/holdfast-dev/holdfast/internal/platform/version"
)

// addProbes serves /healthz and /readyz. A replica is ready when its caches are
// complete and its webhooks can be called; what the API server has installed is
// no property of a replica and takes none out of service.
func (g *guard) addProbes() error {
	for name, check := range map[string]healthz.Checker{
		"caches": func(*http.Request) error {
			if slices.ContainsFunc(g.informers, func(i cache.Informer) bool { return !i.HasSynced() }) {
				return errors.New("the caches are not complete yet")
			}
			return nil
		},
		"certificate": func(*http.Request) error { return g.certs.Check() },
		"webhooks":    g.webhooks.StartedChecker(),
		"features": func(*http.Request) error {
			for _, f := range g.features {
				if err := f.ready(); err != nil {
					return fmt.Errorf("%s: %w", f.name, err)
				}
			}
			return nil
		},
	} {
		if err := g.mgr.AddReadyzCheck(name, check); err != nil {
			return err
		}
	}
	return g.mgr.AddHealthzCheck("ping", healthz.Ping)
}

// followCertificate wakes whoever depends on the certificate when it changes.
func (g *guard) followCertificate(changes <-chan event.GenericEvent) manager.Runnable {
	return everyReplica(func(ctx context.Context) error {
		for {
			select {
			case <-changes:
				g.admission.Wake()
				g.status.Wake()
			case <-ctx.Done():
				return nil
			}
		}
	})
}

// everyReplica is a runnable that does not wait to be the leader.
type everyReplica func(context.Context) error

func (f everyReplica) Start(ctx context.Context) error { return f(ctx) }
func (everyReplica) NeedLeaderElection() bool          { return false }

// observe collects what the parts say of themselves.
func (g *guard) observe() status.Observed {
	text, err := config.Encode(g.config.Current())
	if err != nil { // it was decoded from the same form
		ctrl.Log.Error(err, "Configuration cannot be printed")
	}
	out := status.Observed{
		Version:       version.Version,
		Features:      g.featureStatus(g.config.Current()),
		Configuration: string(text),
		Conditions: []metav1.Condition{
			g.admission.Condition(),
			certificateCondition(g.certs.Check(), g.certs.NotAfter(), time.Now()),
			configurationCondition(cmp.Or(g.config.LastError(), g.webhooks.CheckClients()), g.mistakes, g.config.Empty()),
		},
	}
	if kinds := g.kinds.Current(); kinds != nil { // which is not asked for while all features are off
		out.Conditions = append(out.Conditions, definitionsCondition(kinds, g.definitions))
	}
	for _, f := range g.features {
		if f.conditions != nil {
			out.Conditions = append(out.Conditions, f.conditions()...)
		}
	}
	return out
}

func certificateCondition(err error, notAfter, now time.Time) metav1.Condition {
	c := metav1.Condition{
		Type: v1alpha1.ConditionCertificateValid, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonValid,
		Message: "the serving certificate is valid until " + notAfter.UTC().Format(time.RFC3339),
	}
	if err != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonNotYetIssued, err.Error()
		if !notAfter.IsZero() && now.After(notAfter) {
			c.Reason = v1alpha1.ReasonExpired
		}
	}
	return c
}

// definitionsCondition reports CustomResourceDefinitions of Holdfast that the API server does not serve. Without them the rules
// that their objects make are gone, and no other condition has the reason.
func definitionsCondition(kinds *inventory.Snapshot, definitions []string) metav1.Condition {
	c := metav1.Condition{
		Type: v1alpha1.ConditionDefinitionsServed, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonServed,
		Message: "the API server serves all kinds of " + v1alpha1.GroupName,
	}
	var missing []string
	for _, name := range definitions {
		if k, found := kinds.ByResource(schema.ParseGroupResource(name)); !found || k.Unserved {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotServed
		c.Message = "the API server does not serve " + strings.Join(missing, ", ") + ": the CustomResourceDefinition was deleted, and its objects with it, or serves no version. " +
			"Apply those of config/crd, or restart Holdfast, which does"
	}
	return c
}

func configurationCondition(err error, mistakes []string, empty bool) metav1.Condition {
	c := metav1.Condition{
		Type: v1alpha1.ConditionConfigurationAccepted, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAccepted,
		Message: "the newest configuration is in force",
	}
	if empty {
		c.Message = "nothing is configured, so every default is in force"
	}
	switch {
	case err != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonRefused, err.Error()+"; the last good configuration stays in force"
	case len(mistakes) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonInvalidVariable, "in the environment of the manager: "+strings.Join(mistakes, "; ")
	}
	return c
}
