// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
)

// SyncNamespace is the namespace of all RootSyncs.
const SyncNamespace = configsyncv1beta1.Namespace

// Sync is a RootSync, by its name; its namespace is SyncNamespace.
type Sync string

// Manager is the value of the annotation "configsync.gke.io/manager".
func (s Sync) Manager() string {
	if s == configsyncv1beta1.DefaultRootSync {
		return configsyncv1beta1.ManagerRoot
	}
	return configsyncv1beta1.ManagerRoot + "_" + string(s)
}

// Reconciler is the name of the ServiceAccount that it acts as, and of the Deployment
// that runs it in Config Sync.
func (s Sync) Reconciler() string {
	if s == configsyncv1beta1.DefaultRootSync {
		return "root-reconciler"
	}
	return "root-reconciler-" + string(s)
}

// User is the name of the ServiceAccount in the API server.
func (s Sync) User() string { return "system:serviceaccount:" + SyncNamespace + ":" + s.Reconciler() }

// Inventory is the value of the annotation "config.k8s.io/owning-inventory" and of the
// label "cli-utils.sigs.k8s.io/inventory-id".
func (s Sync) Inventory() string { return SyncNamespace + "_" + string(s) }

// ApplySet is the value of the label "applyset.kubernetes.io/part-of".
func (s Sync) ApplySet() string {
	sum := sha256.Sum256([]byte(string(s) + "." + SyncNamespace + ".RootSync.configsync.gke.io"))
	return "applyset-" + base64.RawURLEncoding.EncodeToString(sum[:]) + "-v1"
}

// SyncOf is the RootSync of a value of "configsync.gke.io/manager"; false for what
// is no RootSync's.
func SyncOf(manager string) (Sync, bool) {
	if manager == configsyncv1beta1.ManagerRoot {
		return configsyncv1beta1.DefaultRootSync, true
	}
	name, found := strings.CutPrefix(manager, configsyncv1beta1.ManagerRoot+"_")
	return Sync(name), found && name != ""
}
