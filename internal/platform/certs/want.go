// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// Want is what the certificates are to be like. A change counts from the next
// time that Next is asked: a shorter validity also for certificates that are
// issued already, a longer one when they are next renewed.
type Want struct {
	// HostNames are the DNS names and IP addresses under which the API server
	// calls the webhooks. At least one.
	HostNames []string
	// Validity of a serving certificate, renewed after two thirds of it. At
	// least a minute.
	Validity time.Duration
	// AuthorityValidity is the same for the authority. More than Validity.
	AuthorityValidity time.Duration
	// Overlap is how long a new authority is trusted before it signs, and an old
	// one after it has. Positive and less than a third of AuthorityValidity.
	Overlap time.Duration
}

// Settings is the part of the configuration that the package needs.
type Settings struct {
	// Provider says who issues. Empty is Holdfast.
	Provider configv1alpha1.CertificateProvider
	Want
}

// SettingsOf returns the settings of a configuration that has its defaults. The
// name of the Secret is not among them: it is fixed at start, because the
// manager's cache is bound to it.
func SettingsOf(c configv1alpha1.CertificatesConfiguration, hostNames []string) Settings {
	return Settings{
		Provider: c.Provider,
		Want: Want{
			HostNames:         hostNames,
			Validity:          c.Validity.Duration,
			AuthorityValidity: c.AuthorityValidity.Duration,
			Overlap:           c.Overlap.Duration,
		},
	}
}

// validate refuses what would make certificates that are useless or that are
// renewed without end.
func (w Want) validate() error {
	switch {
	case len(w.HostNames) == 0:
		return errors.New("no host names")
	case slices.Contains(w.HostNames, ""):
		return errors.New("an empty host name")
	case w.Validity < time.Minute:
		return fmt.Errorf("validity %s is less than 1m", w.Validity)
	case w.AuthorityValidity <= w.Validity:
		return fmt.Errorf("authority validity %s is not more than validity %s", w.AuthorityValidity, w.Validity)
	case w.Overlap <= 0 || w.Overlap >= w.AuthorityValidity/3:
		return fmt.Errorf("overlap %s is not between 0 and a third of authority validity %s", w.Overlap, w.AuthorityValidity)
	}
	return nil
}

// names returns host names in the one way in which they are compared: addresses
// in their shortest form, DNS names in lower case, in order, each once.
func names(hosts []string) []string {
	out := make([]string, 0, len(hosts))
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			h = ip.String()
		}
		out = append(out, strings.ToLower(h))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
