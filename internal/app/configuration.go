// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"os"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/cel"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/platform/features"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount"
)

// loadConfiguration reads the configuration that the process starts with.
func loadConfiguration(ctx context.Context, o *Common, loader config.Loader, c client.Reader) (*config.Store, error) {
	data, from := []byte(config.Empty), "the defaults"
	var err error
	switch {
	case o.ConfigFile != "":
		from = o.ConfigFile
		data, err = config.ReadFile(o.ConfigFile)
	case o.ConfigMap != "":
		from = "ConfigMap " + o.configMapName().String()
		err = retry(ctx, func(ctx context.Context) (err error) {
			data, err = config.ReadConfigMap(ctx, c, o.configMapName())
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration from %s: %w; it is written by config/install/configuration.yaml, and the Role of this workload must allow to get, list and watch it", from, err)
	}
	store, err := config.NewStore(clock.RealClock{}, loader, data, from)
	if err != nil {
		return nil, err
	}
	logConfiguration(store.Current())
	return store, nil
}

func (o *Common) configMapName() types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: o.ConfigMap}
}

// logConfiguration prints the configuration in force, with every default.
func logConfiguration(c *configv1alpha1.HoldfastConfiguration) {
	text, err := config.Encode(c)
	if err != nil { // it was decoded from the same form
		ctrl.Log.Error(err, "Configuration cannot be printed")
		return
	}
	ctrl.Log.Info("Configuration in force", "configuration", string(text))
}

// watchConfiguration picks up changes.
func watchConfiguration(mgr ctrl.Manager, o *Common, store *config.Store) error {
	switch {
	case o.ConfigFile != "":
		return mgr.Add(config.NewFileSource(store, o.ConfigFile, clock.RealClock{}))
	case o.ConfigMap != "":
		return config.NewMapSource(store, mgr.GetClient(), o.configMapName()).SetupWithManager(mgr)
	}
	return nil
}

// loader checks what this package alone can know beside what the file says.
func (g *guard) loader() config.Loader {
	return config.Loader{Overrides: g.overrides, Validators: append(validators(g.gates),
		func(c *configv1alpha1.HoldfastConfiguration) field.ErrorList {
			if g.config == nil || c.Certificates.SecretName == g.secretName() {
				return nil
			}
			return field.ErrorList{field.Forbidden(field.NewPath("certificates", "secretName"),
				"it is fixed while Holdfast runs, at "+g.secretName()+"; to change it let the Role holdfast-guard name the other Secret, stop Holdfast, change this and start it again")}
		},
	)}
}

// validators are those of every workload: a file is valid for all of them or for none.
func validators(gates *features.Gates) []config.Validator {
	return []config.Validator{
		settings.Validate,
		func(c *configv1alpha1.HoldfastConfiguration) field.ErrorList {
			if _, err := gates.Check(c.FeatureGates); err != nil {
				return field.ErrorList{field.Invalid(field.NewPath("featureGates"), c.FeatureGates, err.Error())}
			}
			return nil
		},
	}
}

// readEnvironment reads the variables and the flags that go before the
// configuration, once.
func (g *guard) readEnvironment() error {
	env, err := eviction.ReadEnvironment(os.LookupEnv)
	if err != nil {
		return err
	}
	accounts, err := serviceaccount.ReadEnvironment(os.LookupEnv)
	if err != nil {
		return err
	}
	for _, note := range append(env.Notes, accounts.Notes...) {
		ctrl.Log.Info("Environment", "note", note)
	}
	for _, mistake := range env.Mistakes {
		ctrl.Log.Error(nil, "Environment", "mistake", mistake)
	}
	g.mistakes = env.Mistakes
	given, err := g.options.Hierarchy.Read()
	if err != nil {
		return err
	}
	for _, note := range given.Notes {
		ctrl.Log.Info("Flag of HNC", "note", note)
	}
	g.overrides = slices.Concat(env.Overrides, accounts.Overrides, given.Overrides)
	return nil
}

// applyGates brings the gates in line with the configuration in force.
func (g *guard) applyGates() error {
	warnings, err := g.gates.Apply(g.config.Current().FeatureGates, g.options.FeatureGates)
	for _, w := range warnings {
		ctrl.Log.Info("Feature gate warning", "warning", w)
	}
	return err
}

// configurationWebhook lets whoever writes the configuration know at once what
// is wrong with it. Without a ConfigMap there is nothing to watch.
func (g *guard) configurationWebhook() []admission.Webhook {
	o := g.options
	if o.ConfigMap == "" {
		return nil
	}
	const name = "configuration.holdfast.dev"
	checks := config.NewWebhook(g.loader(), o.configMapName(), g.mgr.GetScheme())
	return []admission.Webhook{{
		Name:    name,
		Mode:    configv1alpha1.ModeEnforce,
		Path:    config.WebhookPath,
		Handler: &webhook.Admission{Handler: admission.Refusing(name, checks)},
		Scope: scope.Selection{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: o.Namespace},
		}},
		Spec: admissionregistrationv1.ValidatingWebhook{
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
				},
			}},
			FailurePolicy: ptr.To(admissionregistrationv1.Ignore),
			SideEffects:   ptr.To(admissionregistrationv1.SideEffectClassNone),
			MatchConditions: []admissionregistrationv1.MatchCondition{{
				Name: "configuration", Expression: "object.metadata.name == " + cel.String(o.ConfigMap),
			}},
		},
	}}
}
