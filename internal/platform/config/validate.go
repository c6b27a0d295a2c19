// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/pattern"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// minValidity is the shortest life of a serving certificate: below it, renewal
// after two thirds would be a matter of seconds.
const minValidity = time.Minute

var gateName = regexp.MustCompile(`^[A-Za-z0-9]+$`)

// Validate returns everything that is wrong with a configuration whose defaults
// are filled in. Which feature gates there are it does not know.
func Validate(cfg *configv1alpha1.HoldfastConfiguration) field.ErrorList {
	var problems field.ErrorList
	admission := field.NewPath("admission")
	deletion := field.NewPath("deletion")

	problems = append(problems, validateGateNames(cfg.FeatureGates, field.NewPath("featureGates"))...)
	problems = append(problems, validateScopes(cfg)...)
	problems = append(problems, oneOf(admission.Child("selfProtection"), cfg.Admission.SelfProtection, configv1alpha1.Modes)...)
	problems = append(problems, validateWebhookClients(&cfg.Admission.WebhookClients, admission.Child("webhookClients"))...)
	problems = append(problems, validateCertificates(&cfg.Certificates, field.NewPath("certificates"))...)
	problems = append(problems, oneOf(deletion.Child("mode"), cfg.Deletion.Mode, configv1alpha1.Modes)...)
	problems = append(problems, validateLabels(&cfg.Deletion.Labels, deletion.Child("labels"))...)
	problems = append(problems, validateUserNames(cfg.Deletion.WorkloadControllers, deletion.Child("workloadControllers"))...)
	problems = append(problems, oneOf(deletion.Child("onOutage"), cfg.Deletion.OnOutage,
		[]configv1alpha1.OutageRule{configv1alpha1.OutageRefuses, configv1alpha1.OutageAllows})...)
	problems = append(problems, validateOverrides(&cfg.Deletion.Overrides, deletion.Child("overrides"))...)
	problems = append(problems, validateEviction(&cfg.Eviction, field.NewPath("eviction"))...)
	if d := cfg.RootSync.RenderTimeout.Duration; d < time.Second || d > time.Hour {
		problems = append(problems, field.Invalid(field.NewPath("rootSync", "renderTimeout"), d.String(), "must be between 1s and 1h"))
	}
	problems = append(problems, validateServiceAccounts(&cfg.ServiceAccounts, field.NewPath("serviceAccounts"))...)
	return problems
}

// validateWebhookClients does not read the file: replicas that do not have it yet validate the configuration too.
func validateWebhookClients(c *configv1alpha1.WebhookClients, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	if c.CAFile != "" && !filepath.IsAbs(c.CAFile) {
		problems = append(problems, field.Invalid(path.Child("caFile"), c.CAFile, "must be an absolute path"))
	}
	if c.CAFile == "" && len(c.CommonNames) > 0 {
		problems = append(problems, field.Required(path.Child("caFile"), "commonNames count only for certificates of its authorities"))
	}
	for i, name := range c.CommonNames {
		switch at := path.Child("commonNames").Index(i); {
		case name == "":
			problems = append(problems, field.Required(at, "write the common name of a certificate, or remove the item"))
		case slices.Contains(c.CommonNames[:i], name):
			problems = append(problems, field.Duplicate(at, name))
		}
	}
	return problems
}

func validateServiceAccounts(s *configv1alpha1.ServiceAccountsConfiguration, path *field.Path) field.ErrorList {
	problems := slices.Concat(
		oneOf(path.Child("mode"), s.Mode, []configv1alpha1.ServiceAccountsMode{
			configv1alpha1.ServiceAccountsOff, configv1alpha1.ServiceAccountsReport, configv1alpha1.ServiceAccountsEnforce,
		}),
		oneOf(path.Child("existing"), s.Existing, []configv1alpha1.ExistingAccounts{configv1alpha1.ExistingApply, configv1alpha1.ExistingReplace}),
		oneOf(path.Child("identities"), s.Identities, []configv1alpha1.AccountIdentities{configv1alpha1.IdentitiesOwned, configv1alpha1.IdentitiesAll}),
	)
	if exclusion := s.Strimzi.LabelsExclusionPattern; exclusion != nil && *exclusion != "" {
		if _, err := pattern.Compile(*exclusion); err != nil {
			problems = append(problems, field.Invalid(path.Child("strimzi", "labelsExclusionPattern"), *exclusion, err.Error()))
		}
	}
	return problems
}

func validateEviction(e *configv1alpha1.EvictionConfiguration, path *field.Path) field.ErrorList {
	problems := slices.Concat(
		oneOf(path.Child("mode"), e.Mode, configv1alpha1.Modes),
		oneOf(path.Child("filter"), e.Filter, []configv1alpha1.FilterPlace{configv1alpha1.FilterSelector, configv1alpha1.FilterHandler}),
		oneOf(path.Child("pods"), e.Pods, []configv1alpha1.PodKnowledge{configv1alpha1.PodsRead, configv1alpha1.PodsCached}),
		oneOf(path.Child("onOutage"), e.OnOutage, []configv1alpha1.OutageRule{configv1alpha1.OutageRefuses, configv1alpha1.OutageAllows}),
		oneOf(path.Child("protectedPods"), e.ProtectedPods,
			[]configv1alpha1.ProtectedPodRule{configv1alpha1.ProtectedPodsRefused, configv1alpha1.ProtectedPodsAllowed}),
	)
	if e.RequestTimeout.Duration < 0 {
		problems = append(problems, field.Invalid(path.Child("requestTimeout"), e.RequestTimeout.Duration.String(), "must not be negative"))
	}
	return problems
}

// maxOverride is the bound of the maximum, which the CRD repeats.
const maxOverride = 24 * time.Hour

func validateOverrides(o *configv1alpha1.OverridesConfiguration, path *field.Path) field.ErrorList {
	problems := oneOf(path.Child("approval"), o.Approval,
		[]configv1alpha1.ApprovalRule{configv1alpha1.ApprovalNotRequired, configv1alpha1.ApprovalRequired})
	if d := o.MaxDuration.Duration; d < time.Second || d > maxOverride {
		problems = append(problems, field.Invalid(path.Child("maxDuration"), d.String(), "must be between 1s and 24h"))
	}
	return problems
}

// validateGateNames refuses what is no name at all, also where nobody asks
// whether the gates exist.
func validateGateNames(gates map[string]bool, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		if !gateName.MatchString(name) {
			problems = append(problems, field.Invalid(path, name, "no feature gate can have this name: use letters and digits"))
		}
	}
	return problems
}

func validateScopes(cfg *configv1alpha1.HoldfastConfiguration) field.ErrorList {
	global, deletion := field.NewPath("scope"), field.NewPath("deletion", "scope")
	problems := slices.Concat(
		scope.Validate(cfg.Scope, global),
		scope.Validate(cfg.Deletion.Scope, deletion),
		scope.Validate(cfg.Eviction.Scope, field.NewPath("eviction", "scope")), // its webhook can ask for what no selector holds
		scope.Validate(cfg.ServiceAccounts.Scope, field.NewPath("serviceAccounts", "scope")),
	)
	if len(problems) > 0 {
		return problems
	}
	if residual(cfg.Scope) {
		return field.ErrorList{tooLong(global)}
	}
	if residual(cfg.Deletion.Scope) {
		return field.ErrorList{tooLong(deletion)}
	}
	return nil
}

// residual says whether a policy cannot hold the scope. Crossed with another
// scope it might, but whether a scope is right should not hang on a second one.
func residual(s configv1alpha1.Scope) bool {
	compiled, err := scope.Compile(s)
	return err != nil || compiled.Selection().Residual
}

func tooLong(path *field.Path) *field.Error {
	return field.Invalid(path.Child("namespaces"), field.OmitValueType{},
		"the list is too long for the API server because it has patterns: "+
			"use fewer patterns, exact names alone, or a label and namespaceSelector")
}

func validateCertificates(c *configv1alpha1.CertificatesConfiguration, path *field.Path) field.ErrorList {
	problems := oneOf(path.Child("provider"), c.Provider,
		[]configv1alpha1.CertificateProvider{configv1alpha1.CertificatesByHoldfast, configv1alpha1.CertificatesBySecret})
	for _, mistake := range validation.IsDNS1123Subdomain(c.SecretName) {
		problems = append(problems, field.Invalid(path.Child("secretName"), c.SecretName, mistake))
	}

	invalid := func(name string, value metav1.Duration, format string, args ...any) {
		problems = append(problems, field.Invalid(path.Child(name), value.Duration.String(), fmt.Sprintf(format, args...)))
	}
	if c.Validity.Duration < minValidity {
		invalid("validity", c.Validity, "must be at least %s", minValidity)
	}
	if c.AuthorityValidity.Duration <= c.Validity.Duration {
		invalid("authorityValidity", c.AuthorityValidity, "must be longer than validity, which is %s", c.Validity.Duration)
	}
	if third := c.AuthorityValidity.Duration / 3; c.Overlap.Duration <= 0 || c.Overlap.Duration >= third {
		invalid("overlap", c.Overlap, "must be more than 0s and less than a third of authorityValidity, which is %s", third)
	}
	return problems
}

func validateLabels(labels *configv1alpha1.DeletionLabels, path *field.Path) field.ErrorList {
	rules := []configv1alpha1.LabelRule{configv1alpha1.LabelIgnored, configv1alpha1.LabelOpen, configv1alpha1.LabelStrict}
	return append(oneOf(path.Child("karmada"), labels.Karmada, rules), oneOf(path.Child("kruise"), labels.Kruise, rules)...)
}

func validateUserNames(names []string, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	for i, name := range names {
		at := path.Index(i)
		switch {
		case name == "":
			problems = append(problems, field.Required(at, "write the name of a user, such as system:serviceaccount:NAMESPACE:NAME, or remove the item"))
		case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
			problems = append(problems, field.Invalid(at, name, "must be one user name, without spaces; write each in an item of its own"))
		case slices.Contains(names[:i], name):
			problems = append(problems, field.Duplicate(at, name))
		}
	}
	return problems
}

// oneOf says whether the value is among those allowed.
func oneOf[T ~string](path *field.Path, value T, allowed []T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}
