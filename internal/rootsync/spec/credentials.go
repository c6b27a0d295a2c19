// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
)

// Credentials are what a source is fetched with. Two are the same if == says so.
type Credentials struct {
	// Username and Password are of auth token. That of a repository is the token.
	Username, Password string
	// SSHKey and KnownHosts are of auth ssh. Any host is trusted if the latter is empty.
	SSHKey, KnownHosts string
	// CA is the authority that the certificate of the server is from, in PEM; empty for
	// those of the system.
	CA string
	// Proxy is the URL of a proxy; empty for none.
	Proxy string
}

// Secrets are the data of Secrets by their names. Those that are not in it do not exist.
type Secrets map[string]map[string][]byte

// Credentials are those of a source, from the Secrets that it names.
func (s Source) Credentials(secrets Secrets) (Credentials, *knv.Error) {
	c := Credentials{Proxy: s.Proxy}
	switch s.Auth {
	case configsyncv1beta1.AuthSSH:
		if err := s.require(secrets, key{configsyncv1beta1.SecretSSH, &c.SSHKey}); err != nil {
			return Credentials{}, err
		}
		c.KnownHosts = string(secrets[s.Secret][configsyncv1beta1.SecretKnownHosts])
	case configsyncv1beta1.AuthToken:
		if err := s.require(secrets, s.tokenKeys(&c)...); err != nil {
			return Credentials{}, err
		}
		if s.Type == configsyncv1beta1.SourceGit {
			c.Proxy = cmp.Or(s.Proxy, string(secrets[s.Secret][configsyncv1beta1.SecretProxy]))
		}
	}
	if s.CASecret == "" {
		return c, nil
	}
	data, found := secrets[s.CASecret]
	if !found {
		return Credentials{}, noSecret(s.CASecret)
	}
	if c.CA = string(data[configsyncv1beta1.SecretCA]); c.CA == "" {
		return Credentials{}, invalid("caCertSecretRef was set, but %q key is not present in %q Secret", configsyncv1beta1.SecretCA, s.CASecret)
	}
	return c, nil
}

// key is one of a Secret, and where its value goes.
type key struct {
	name string
	into *string
}

// tokenKeys are in the order in which Config Sync misses them.
func (s Source) tokenKeys(c *Credentials) []key {
	user := key{configsyncv1beta1.SecretUsername, &c.Username}
	if s.Type == configsyncv1beta1.SourceOCI {
		return []key{user, {configsyncv1beta1.SecretPassword, &c.Password}}
	}
	return []key{{configsyncv1beta1.SecretToken, &c.Password}, user}
}

// require reads keys of the Secret. One without a value counts as missing: it would be
// refused by the server, which cannot say why.
func (s Source) require(secrets Secrets, keys ...key) *knv.Error {
	data, found := secrets[s.Secret]
	if !found {
		return noSecret(s.Secret)
	}
	for _, k := range keys {
		if *k.into = string(data[k.name]); *k.into == "" {
			return invalid("%s authType was set as %q but %q key is not present in %q Secret", s.Type, s.Auth, k.name, s.Secret)
		}
	}
	return nil
}

func noSecret(name string) *knv.Error {
	return invalid("Secret %s not found: create one to allow client authentication", name)
}
