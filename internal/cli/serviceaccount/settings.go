// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// Where Holdfast has its configuration, as it is installed.
const (
	configNamespace = "holdfast-system"
	configName      = "holdfast"
)

// settings are those parts of the configuration that a plan goes by.
type settings struct {
	Settings
	scope scope.Scope
	// selects says that the scope asks for the labels of namespaces.
	selects bool
	note    string
}

// settings reads the configuration. Who may not gets the defaults, and is told.
func (l *looker) settings(ctx context.Context) (settings, error) {
	const from = "ConfigMap " + configNamespace + "/" + configName
	text, note := config.Empty, ""
	o, err := l.dynamic.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(configNamespace).Get(ctx, configName, metav1.GetOptions{})
	source := from
	if err != nil {
		source, note = "defaults", fmt.Sprintf("the configuration cannot be read, so the defaults are taken: %v", err)
	} else if there, found, _ := unstructured.NestedString(o.Object, "data", config.DataKey); found {
		text = there
	}
	loaded, err := config.Load([]byte(text))
	if err != nil {
		source, note = "defaults", fmt.Sprintf("the %s is not valid, so the defaults are taken: %v", from, err)
		if loaded, err = config.Load([]byte(config.Empty)); err != nil {
			return settings{}, err
		}
	}
	out, err := settingsOf(loaded)
	out.From, out.note = source, note
	return out, err
}

func settingsOf(c *configv1alpha1.HoldfastConfiguration) (settings, error) {
	where, err := scope.Compile(c.Scope, c.ServiceAccounts.Scope)
	if err != nil {
		return settings{}, fmt.Errorf("read the scope: %w", err)
	}
	out := settings{scope: where, selects: c.Scope.NamespaceSelector != nil || c.ServiceAccounts.Scope.NamespaceSelector != nil}
	out.Mode, out.Existing, out.Identities = c.ServiceAccounts.Mode, c.ServiceAccounts.Existing, c.ServiceAccounts.Identities
	out.LabelsExclusionPattern = configv1alpha1.DefaultLabelsExclusionPattern
	if p := c.ServiceAccounts.Strimzi.LabelsExclusionPattern; p != nil {
		out.LabelsExclusionPattern = *p
	}
	return out, nil
}
