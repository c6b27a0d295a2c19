// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/platform/pattern"
)

// The variables of Strimzi's cluster operator that mean something here.
const (
	featureGates    = "STRIMZI_FEATURE_GATES"
	labelsExclusion = "STRIMZI_LABELS_EXCLUSION_PATTERN"
)

// Environment is what the variables of Strimzi's cluster operator say.
type Environment struct {
	// Overrides go before the configuration file.
	Overrides []config.Override
	// Notes are for whoever set something that means nothing here.
	Notes []string
}

// ReadEnvironment reads the variables of Strimzi's cluster operator; lookup is
// os.LookupEnv. What the operator would not start with is an error, in its words.
func ReadEnvironment(lookup func(string) (string, bool)) (Environment, error) {
	var out Environment
	text, _ := lookup(featureGates)
	gates, err := parseFeatureGates(text)
	if err != nil {
		return Environment{}, fmt.Errorf("%s: %w", featureGates, err)
	}
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		if name != string(PatchingGate) {
			out.Notes = append(out.Notes, fmt.Sprintf("%s in %s has no effect: it is about other parts of Strimzi", name, featureGates))
			continue
		}
		on := gates[name]
		out.Overrides = append(out.Overrides, func(c *configv1alpha1.HoldfastConfiguration) error {
			// The map may be that of the file, which an override does not change.
			c.FeatureGates = maps.Clone(c.FeatureGates)
			if c.FeatureGates == nil {
				c.FeatureGates = map[string]bool{}
			}
			c.FeatureGates[string(PatchingGate)] = on
			return nil
		})
	}
	// Set and empty is a pattern too, which excludes nothing.
	if exclusion, set := lookup(labelsExclusion); set {
		if _, err := pattern.Compile(exclusion); err != nil {
			return Environment{}, fmt.Errorf("%s: %q %w", labelsExclusion, exclusion, err)
		}
		out.Overrides = append(out.Overrides, func(c *configv1alpha1.HoldfastConfiguration) error {
			c.ServiceAccounts.Strimzi.LabelsExclusionPattern = new(exclusion)
			return nil
		})
	}
	return out, nil
}

const (
	// blank is what Java's \s matches.
	blank   = `[ \t\n\x0B\f\r]*`
	setting = blank + `[+-][a-zA-Z0-9]+` + blank
)

var (
	gatesGrammar   = regexp.MustCompile(`\A(?:` + setting + `,)*` + setting + `\z`)
	gatesSeparator = regexp.MustCompile(blank + `,` + blank)
)

// strimziGates are those that Strimzi has or has had, from 0.24 on.
var strimziGates = []string{
	string(PatchingGate),
	"ContinueReconciliationOnManualRollingUpdateFailure", "ControlPlaneListener", "KafkaNodePools", "ServerSideApplyPhase1",
	"StableConnectIdentities", "UnidirectionalTopicOperator", "UseBackgroundPodDeletion", "UseConnectBuildWithBuildah",
	"UseKRaft", "UseStrimziPodSets",
}

// parseFeatureGates reads gates as Strimzi does, by its grammar and in its words. The
// common syntax of Holdfast's own flag is another.
func parseFeatureGates(in string) (map[string]bool, error) {
	in = strings.TrimFunc(in, func(r rune) bool { return r <= ' ' }) // as Java's trim
	if in == "" {
		return nil, nil //nolint:nilnil // nothing set is an answer
	}
	if !gatesGrammar.MatchString(in) {
		return nil, fmt.Errorf("%s is not a valid feature gate configuration", in)
	}
	out := map[string]bool{}
	for _, item := range gatesSeparator.Split(in, -1) {
		name := item[1:]
		if !slices.Contains(strimziGates, name) {
			return nil, fmt.Errorf("Unknown feature gate %s found in the configuration", name) //nolint:staticcheck // Strimzi's words
		}
		if _, repeated := out[name]; repeated {
			return nil, fmt.Errorf("Feature gate %s is configured multiple times", name) //nolint:staticcheck // Strimzi's words
		}
		out[name] = item[0] == '+'
	}
	return out, nil
}
