// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

// Environment is what the variables of the Strimzi Drain Cleaner say.
type Environment struct {
	// Overrides go before the configuration file.
	Overrides []config.Override
	// Notes are about variables that have no effect here.
	Notes []string
	// Mistakes are about variables whose value is not valid, and say what is in force instead.
	Mistakes []string
}

// The words that the Drain Cleaner reads as true, and common ones for false.
var (
	truths     = []string{"true", "1", "yes", "y", "on", "ja", "j", "si", "sim", "oui"}
	falsehoods = []string{"false", "0", "no", "n", "off"}
)

// requestTimeout is the variable of the Drain Cleaner's framework.
const requestTimeout = "QUARKUS_KUBERNETES_CLIENT_REQUEST_TIMEOUT"

// ReadEnvironment reads the variables of the Strimzi Drain Cleaner; lookup is
// os.LookupEnv. As upstream, a flag is true for the words of truths in any case,
// false for every other word, and an error if it is empty. A list of namespaces
// that is not valid means all, as seed 000 asks.
func ReadEnvironment(lookup func(string) (string, bool)) (Environment, error) {
	var out Environment
	flags := []struct {
		name   string
		target func(*configv1alpha1.DrainCleanerConfiguration) **bool
	}{
		{"STRIMZI_DRAIN_KAFKA", func(c *configv1alpha1.DrainCleanerConfiguration) **bool { return &c.Kafka }},
		{"STRIMZI_DRAIN_ZOOKEEPER", func(c *configv1alpha1.DrainCleanerConfiguration) **bool { return &c.ZooKeeper }},
		{"STRIMZI_DENY_EVICTION", func(c *configv1alpha1.DrainCleanerConfiguration) **bool { return &c.DenyEviction }},
	}
	for _, f := range flags {
		text, set := lookup(f.name)
		if !set {
			continue
		}
		word := strings.ToLower(strings.TrimSpace(text))
		if word == "" {
			return Environment{}, fmt.Errorf("%s is empty: set it to true or false, or not at all", f.name)
		}
		value := slices.Contains(truths, word)
		if !value && !slices.Contains(falsehoods, word) {
			out.Mistakes = append(out.Mistakes, fmt.Sprintf("%s=%q is neither true nor false, and false is in force: set it to one of them", f.name, text))
		}
		out.Overrides = append(out.Overrides, func(c *configv1alpha1.HoldfastConfiguration) error {
			*f.target(&c.Eviction.DrainCleaner) = new(value)
			return nil
		})
	}
	out.readNamespaces(lookup)
	if err := out.readTimeout(lookup); err != nil {
		return Environment{}, err
	}
	out.readUnused(lookup)
	return out, nil
}

func (e *Environment) readNamespaces(lookup func(string) (string, bool)) {
	text, set := lookup(scope.DrainNamespaces)
	if !set {
		return
	}
	selected, err := scope.FromDrainNamespaces(text, set)
	if err != nil {
		e.Mistakes = append(e.Mistakes, err.Error()+". Until this is fixed, evictions in ALL namespaces are guarded")
	}
	e.Overrides = append(e.Overrides, config.ScopeOverride(
		func(c *configv1alpha1.HoldfastConfiguration) *configv1alpha1.Scope { return &c.Eviction.Scope }, selected, err))
}

func (e *Environment) readTimeout(lookup func(string) (string, bool)) error {
	text, _ := lookup(requestTimeout)
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	d, err := milliseconds(text)
	if err != nil {
		return fmt.Errorf("%s: %q is not a number of milliseconds, such as 2000", requestTimeout, text)
	}
	e.Overrides = append(e.Overrides, func(c *configv1alpha1.HoldfastConfiguration) error {
		c.Eviction.RequestTimeout = metav1.Duration{Duration: d}
		return nil
	})
	return nil
}

// milliseconds reads a plain number, or one with a unit.
func milliseconds(text string) (time.Duration, error) {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && n >= 0 {
		return time.Duration(n) * time.Millisecond, nil
	}
	d, err := time.ParseDuration(strings.ToLower(text))
	if err == nil && d < 0 {
		return 0, strconv.ErrRange
	}
	return d, err
}

func (e *Environment) readUnused(lookup func(string) (string, bool)) {
	for _, unused := range []struct{ name, why string }{
		{"QUARKUS_KUBERNETES_CLIENT_CONNECTION_TIMEOUT", "connections are kept, and " + requestTimeout + " bounds each question, its connection included"},
		{"STRIMZI_CERTIFICATE_WATCH_ENABLED", "Holdfast takes up a renewed certificate by itself, without deleting a pod; see certificates in the configuration"},
		{"STRIMZI_CERTIFICATE_WATCH_NAMESPACE", "the certificate's Secret is in Holdfast's own namespace"},
		{"STRIMZI_CERTIFICATE_WATCH_POD_NAME", "no pod is deleted when the certificate is renewed"},
		{"STRIMZI_CERTIFICATE_WATCH_SECRET_NAME", "the Secret is certificates.secretName in the configuration"},
		{"STRIMZI_CERTIFICATE_WATCH_SECRET_KEYS", "the keys are tls.crt, tls.key and ca.crt"},
	} {
		text, _ := lookup(unused.name)
		if text = strings.TrimSpace(text); text != "" && !strings.EqualFold(text, "false") {
			e.Notes = append(e.Notes, unused.name+" has no effect: "+unused.why)
		}
	}
}
