// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"slices"
	"strings"
	"time"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
)

// minPeriod is the shortest time between two looks at a source.
const minPeriod = time.Second

// accountDomain is what the address of an account of Google Cloud ends with.
const accountDomain = ".iam.gserviceaccount.com"

// The ways of access of each source, in the order of Config Sync's messages.
var (
	gitAuths = []configsyncv1beta1.Auth{
		configsyncv1beta1.AuthSSH, configsyncv1beta1.AuthCookieFile, configsyncv1beta1.AuthGCENode, configsyncv1beta1.AuthToken,
		configsyncv1beta1.AuthNone, configsyncv1beta1.AuthGCPServiceAccount, configsyncv1beta1.AuthGithubApp,
	}
	registryAuths = []configsyncv1beta1.Auth{
		configsyncv1beta1.AuthGCENode, configsyncv1beta1.AuthGCPServiceAccount, configsyncv1beta1.AuthK8sServiceAccount,
		configsyncv1beta1.AuthNone, configsyncv1beta1.AuthToken,
	}
)

func checkSource(rs *configsyncv1beta1.RootSync) *knv.Error {
	switch typeOf(&rs.Spec) {
	case configsyncv1beta1.SourceGit:
		return checkGit(rs.Spec.Git)
	case configsyncv1beta1.SourceOCI:
		return checkOCI(rs.Spec.OCI)
	case configsyncv1beta1.SourceHelm:
		return checkHelm(rs.Spec.Helm)
	}
	return invalid("RootSyncs must specify spec.sourceType to be one of %q, %q, %q",
		configsyncv1beta1.SourceGit, configsyncv1beta1.SourceOCI, configsyncv1beta1.SourceHelm)
}

// access is what all sources have to get access by.
type access struct {
	source  configsyncv1beta1.SourceType
	auth    configsyncv1beta1.Auth
	allowed []configsyncv1beta1.Auth
	account string
	secret  *configsyncv1beta1.SecretReference
}

func checkGit(g *configsyncv1beta1.Git) *knv.Error {
	if g == nil {
		return missing(configsyncv1beta1.SourceGit, "")
	}
	if g.Repo == "" {
		return missing(configsyncv1beta1.SourceGit, ".repo")
	}
	a := access{configsyncv1beta1.SourceGit, g.Auth, gitAuths, g.GCPServiceAccountEmail, g.SecretRef}
	if err := a.checkAuth(); err != nil {
		return err
	}
	if g.Proxy != "" && !slices.Contains([]configsyncv1beta1.Auth{
		configsyncv1beta1.AuthNone, configsyncv1beta1.AuthCookieFile, configsyncv1beta1.AuthToken, configsyncv1beta1.AuthGithubApp,
	}, g.Auth) {
		return invalid("RootSyncs which specify spec.git.proxy must also specify spec.git.auth as one of %q, %q, %q or %q",
			configsyncv1beta1.AuthNone, configsyncv1beta1.AuthCookieFile, configsyncv1beta1.AuthToken, configsyncv1beta1.AuthGithubApp)
	}
	if err := a.checkSecret(); err != nil {
		return err
	}
	if err := checkAddress(g); err != nil {
		return err
	}
	return checkPlace(configsyncv1beta1.SourceGit, g.Dir, g.Period)
}

func checkOCI(o *configsyncv1beta1.OCI) *knv.Error {
	if o == nil {
		return missing(configsyncv1beta1.SourceOCI, "")
	}
	if o.Image == "" {
		return missing(configsyncv1beta1.SourceOCI, ".image")
	}
	a := access{configsyncv1beta1.SourceOCI, o.Auth, registryAuths, o.GCPServiceAccountEmail, o.SecretRef}
	if err := a.checkAuth(); err != nil {
		return err
	}
	if err := a.checkSecret(); err != nil {
		return err
	}
	return checkPlace(configsyncv1beta1.SourceOCI, o.Dir, o.Period)
}

func checkHelm(h *configsyncv1beta1.Helm) *knv.Error {
	switch {
	case h == nil:
		return missing(configsyncv1beta1.SourceHelm, "")
	case h.Repo == "":
		return missing(configsyncv1beta1.SourceHelm, ".repo")
	case h.Chart == "":
		return missing(configsyncv1beta1.SourceHelm, ".chart")
	case strings.Contains(h.Chart, "/"):
		return invalid("RootSync field spec.helm.chart must not contain a slash (/)")
	}
	a := access{configsyncv1beta1.SourceHelm, h.Auth, registryAuths, h.GCPServiceAccountEmail, h.SecretRef}
	if err := a.checkAuth(); err != nil {
		return err
	}
	if err := a.checkSecret(); err != nil {
		return err
	}
	if slices.ContainsFunc(h.ValuesFileRefs, func(r configsyncv1beta1.ValuesFileRef) bool { return r.Name == "" }) {
		return invalid("RootSyncs must specify spec.helm.valuesFileRefs.name")
	}
	if h.Namespace != "" && h.DeployNamespace != "" {
		return invalid("RootSyncs must specify only one of 'spec.helm.namespace' or 'spec.helm.deployNamespace'")
	}
	return nil
}

// missing says that a part of the source is not there; field is empty for all of it.
func missing(source configsyncv1beta1.SourceType, field string) *knv.Error {
	return invalid("RootSyncs must specify spec.%s%s when spec.sourceType is %q", source, field, source)
}

func (a access) checkAuth() *knv.Error {
	if !slices.Contains(a.allowed, a.auth) {
		names := make([]string, 0, len(a.allowed))
		for _, name := range a.allowed {
			names = append(names, string(name))
		}
		return invalid("RootSyncs must specify spec.%s.auth to be one of %s", a.source, strings.Join(names, ","))
	}
	if a.auth != configsyncv1beta1.AuthGCPServiceAccount {
		return nil
	}
	if a.account == "" {
		return invalid("RootSyncs which specify spec.%s.auth as %q must also specify spec.%s.gcpServiceAccountEmail", a.source, a.auth, a.source)
	}
	name, domain, found := strings.Cut(a.account, "@")
	if !found || len(name) < 6 || len(name) > 30 || strings.Contains(domain, "@") || !strings.HasSuffix(domain, accountDomain) {
		return invalid("RootSyncs which specify spec.%s.auth as %q must use suffix <gcp_serviceaccount_name>.[%s]", a.source, a.auth, accountDomain)
	}
	return nil
}

// checkSecret sees to it that there is a Secret where one is needed, and only there.
func (a access) checkSecret() *knv.Error {
	given := nameOf(a.secret) != ""
	switch a.auth {
	case configsyncv1beta1.AuthNone, configsyncv1beta1.AuthGCENode, configsyncv1beta1.AuthGCPServiceAccount, configsyncv1beta1.AuthK8sServiceAccount:
		if given {
			return invalid("RootSyncs which specify spec.%s.auth as one of %q, %q, or %q must not specify spec.%s.secretRef", a.source,
				configsyncv1beta1.AuthNone, configsyncv1beta1.AuthGCENode, configsyncv1beta1.AuthGCPServiceAccount, a.source)
		}
	default:
		if !given {
			return invalid("RootSyncs which specify spec.%s.auth as one of %q, %q, %q, or %q must also specify spec.%s.secretRef", a.source,
				configsyncv1beta1.AuthSSH, configsyncv1beta1.AuthCookieFile, configsyncv1beta1.AuthGithubApp, configsyncv1beta1.AuthToken, a.source)
		}
	}
	return nil
}

// schemes are those of addresses that git may be given. It has others, one of which runs
// a program that the address names.
var schemes = []string{"https", "http", "ssh", "git", "file"}

// checkAddress refuses what git would take for something else than an address, a branch
// or a revision.
func checkAddress(g *configsyncv1beta1.Git) *knv.Error {
	if !validAddress(g.Repo) {
		return invalid("spec.git.repo is %q: set it to an address of the form https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH or file:///PATH", g.Repo)
	}
	for _, ref := range []struct{ field, value string }{{"branch", g.Branch}, {"revision", g.Revision}} {
		if strings.HasPrefix(ref.value, "-") || strings.ContainsFunc(ref.value, unprintable) {
			return invalid("spec.git.%s is %q, which is no name in a repository: set it to that of a branch, a tag or a commit", ref.field, ref.value)
		}
	}
	return nil
}

func validAddress(address string) bool {
	if strings.HasPrefix(address, "-") || strings.Contains(address, "@-") || strings.ContainsFunc(address, unprintable) {
		return false // ssh would take it for an option
	}
	if scheme, rest, found := strings.Cut(address, "://"); found && !strings.Contains(scheme, ":") {
		return slices.Contains(schemes, scheme) && rest != "" && !strings.HasPrefix(rest, "-")
	}
	host, rest, found := strings.Cut(address, ":") // as scp has it
	return found && host != "" && !strings.Contains(host, "/") && rest != "" && !strings.HasPrefix(rest, ":")
}

func unprintable(r rune) bool { return r <= ' ' || r == 0x7f }

func checkPlace(source configsyncv1beta1.SourceType, dir, period string) *knv.Error {
	if slices.Contains(strings.Split(dir, "/"), "..") {
		return invalid("spec.%s.dir is %q, which leads out of the source: set it to a folder in it", source, dir)
	}
	return checkDuration("spec."+string(source)+".period", period, minPeriod)
}
