// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Defaults of a RootSync. None of them is in the schema.
const (
	DefaultBranch           = "master"
	DefaultRevision         = "HEAD"
	DefaultPeriod           = 15 * time.Second
	DefaultReconcileTimeout = 5 * time.Minute
	DefaultAPIServerTimeout = 15 * time.Second

	// depthOfBranch and depthOfRevision are how many commits are fetched: a revision may
	// lie behind the tip of its branch.
	depthOfBranch   = 1
	depthOfRevision = 500
)

// Settings are what a RootSync asks for.
type Settings struct {
	Sync   object.Sync
	Source Source
	// ExplicitNamespaces says that namespaces which are not declared are not made.
	ExplicitNamespaces bool
	// Statuses says whether the inventory has the status of each object.
	Statuses         bool
	ReconcileTimeout time.Duration
	APIServerTimeout time.Duration
	// Roles are in order, each once. None stands for cluster-admin.
	Roles []configsyncv1beta1.RoleRef
	// Foreground says that the objects are deleted with the RootSync; else they are let
	// go of.
	Foreground bool
	Suspended  bool
	// ExactStamps says that each commit is written on all objects.
	ExactStamps bool
	// SyncNow is a value that starts a sync when it changes.
	SyncNow string
}

// Source is what is synced. Two are the same if == says so.
type Source struct {
	// Type is git or oci.
	Type configsyncv1beta1.SourceType
	// Address is that of the repository, or the image.
	Address string
	// Branch and Revision are of a repository. The branch does not count unless the
	// revision is DefaultRevision.
	Branch, Revision string
	// Dir is the folder, with slashes, relative to the root of the tree; "." for that.
	Dir    string
	Period time.Duration
	// Auth is none, token or ssh.
	Auth configsyncv1beta1.Auth
	// Secret and CASecret are names of Secrets, empty where there is none.
	Secret, CASecret string
	// Proxy, SkipTLSVerify and Depth are of a repository. All commits are fetched if the
	// depth is 0.
	Proxy         string
	SkipTLSVerify bool
	Depth         int64
}

// Secrets are the names of the Secrets that it needs.
func (s Source) Secrets() []string {
	names := slices.DeleteFunc([]string{s.Secret, s.CASecret}, func(name string) bool { return name == "" })
	slices.Sort(names)
	return slices.Compact(names)
}

// Shown is the address of the source for those who may see what is synced from it, and not its credentials.
func (s Source) Shown() string { return WithoutPassword(s.Address) }

// WithoutPassword returns an address without the user in it that has a password, or is a token: only the name of
// a user of SSH stays.
func WithoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	if _, has := u.User.Password(); has || u.Scheme != "ssh" {
		u.User = nil
	}
	return u.String()
}

// Context is the value of the annotation "configsync.gke.io/git-context" on what is
// synced from it.
func (s Source) Context() string {
	var c any = struct {
		Repo   string `json:"repo"`
		Branch string `json:"branch,omitempty"`
		Rev    string `json:"rev,omitempty"`
	}{s.Shown(), s.Branch, s.Revision}
	if s.Type == configsyncv1beta1.SourceOCI {
		c = struct {
			Image string `json:"image"`
			Dir   string `json:"dir,omitempty"`
		}{s.Shown(), s.Dir}
	}
	text, _ := json.Marshal(c) // strings always can be
	return string(text)
}

// settings are those of a RootSync that may be wrong: what cannot be read is as if it
// were not there.
func settings(rs *configsyncv1beta1.RootSync) Settings {
	s := Settings{
		Sync:               object.Sync(rs.Name),
		Source:             source(&rs.Spec),
		Statuses:           true,
		ReconcileTimeout:   DefaultReconcileTimeout,
		APIServerTimeout:   DefaultAPIServerTimeout,
		ExplicitNamespaces: strategyOf(rs) == configsyncv1beta1.NamespacesExplicit,
		Foreground:         rs.Annotations[configsyncv1beta1.AnnotationDeletionPropagation] == configsyncv1beta1.DeletionForeground,
		Suspended:          rs.Annotations[configsyncv1beta1.AnnotationSuspend] == valueTrue,
		ExactStamps:        rs.Annotations[configsyncv1beta1.AnnotationCommitStamp] == configsyncv1beta1.CommitStampExact,
		SyncNow:            rs.Annotations[configsyncv1beta1.AnnotationSyncNow],
	}
	if o := rs.Spec.Override; o != nil {
		s.Statuses = o.StatusMode != configsyncv1beta1.StatusDisabled
		s.ReconcileTimeout = durationOr(o.ReconcileTimeout, DefaultReconcileTimeout)
		s.APIServerTimeout = durationOr(o.APIServerTimeout, DefaultAPIServerTimeout)
		s.Roles = roles(o.RoleRefs)
	}
	return s
}

func source(spec *configsyncv1beta1.RootSyncSpec) Source {
	switch {
	case typeOf(spec) == configsyncv1beta1.SourceGit && spec.Git != nil:
		return gitSource(spec.Git, spec.Override)
	case typeOf(spec) == configsyncv1beta1.SourceOCI && spec.OCI != nil:
		return ociSource(spec.OCI)
	}
	return Source{Type: typeOf(spec)}
}

// typeOf is the type of the source, which the schema gives a default.
func typeOf(spec *configsyncv1beta1.RootSyncSpec) configsyncv1beta1.SourceType {
	return cmp.Or(spec.SourceType, configsyncv1beta1.SourceGit)
}

func gitSource(g *configsyncv1beta1.Git, o *configsyncv1beta1.Override) Source {
	s := Source{
		Type:          configsyncv1beta1.SourceGit,
		Address:       g.Repo,
		Branch:        cmp.Or(g.Branch, DefaultBranch),
		Revision:      cmp.Or(g.Revision, DefaultRevision),
		Dir:           folder(g.Dir),
		Period:        durationOr(g.Period, DefaultPeriod),
		Auth:          g.Auth,
		Secret:        nameOf(g.SecretRef),
		CASecret:      nameOf(g.CACertSecretRef),
		Proxy:         g.Proxy,
		SkipTLSVerify: g.NoSSLVerify,
		Depth:         depthOfBranch,
	}
	if s.Revision != DefaultRevision {
		s.Depth = depthOfRevision
	}
	if o != nil && o.GitSyncDepth != nil && *o.GitSyncDepth >= 0 {
		s.Depth = *o.GitSyncDepth
	}
	return s
}

func ociSource(o *configsyncv1beta1.OCI) Source {
	return Source{
		Type:     configsyncv1beta1.SourceOCI,
		Address:  o.Image,
		Dir:      folder(o.Dir),
		Period:   durationOr(o.Period, DefaultPeriod),
		Auth:     o.Auth,
		Secret:   nameOf(o.SecretRef),
		CASecret: nameOf(o.CACertSecretRef),
	}
}

// folder is a path relative to the root of the tree, which it never leaves.
func folder(dir string) string {
	return cmp.Or(strings.TrimPrefix(path.Clean("/"+dir), "/"), ".")
}

func nameOf(r *configsyncv1beta1.SecretReference) string {
	if r == nil {
		return ""
	}
	return r.Name
}

// durationOr reads a duration. As in Config Sync 0 stands for the default.
func durationOr(text string, other time.Duration) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return other
	}
	return d
}

// strategyOf is the namespace strategy, of the field or the annotation.
func strategyOf(rs *configsyncv1beta1.RootSync) configsyncv1beta1.NamespaceStrategy {
	var field configsyncv1beta1.NamespaceStrategy
	if rs.Spec.Override != nil {
		field = rs.Spec.Override.NamespaceStrategy
	}
	return cmp.Or(
		field, configsyncv1beta1.NamespaceStrategy(rs.Annotations[configsyncv1beta1.AnnotationNamespaceStrategy]),
		configsyncv1beta1.NamespacesImplicit,
	)
}

// Reach returns where its roles hold.
func (s *Settings) Reach() object.Reach {
	out := object.Reach{Admin: len(s.Roles) == 0}
	for _, r := range s.Roles {
		if r.Namespace == "" {
			out.Everywhere = true
		} else if !slices.Contains(out.In, r.Namespace) {
			out.In = append(out.In, r.Namespace) // roles are in the order of their namespaces
		}
	}
	return out
}

func roles(refs []configsyncv1beta1.RoleRef) []configsyncv1beta1.RoleRef {
	out := slices.Clone(refs)
	slices.SortFunc(out, func(a, b configsyncv1beta1.RoleRef) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(out)
}
