// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// SyncNamespace is the namespace of all RootSyncs.
const SyncNamespace = "config-management-system"

// defaultSync is the RootSync whose name is left out of the names that follow from it.
const defaultSync = "root-sync"

// Sync is a RootSync, by its name; its namespace is SyncNamespace.
type Sync string

// Manager is the value of the annotation "configsync.gke.io/manager".
func (s Sync) Manager() string {
	if s == defaultSync {
		return ":root"
	}
	return ":root_" + string(s)
}

// Reconciler is the name of the ServiceAccount that it acts as, and of the Deployment
// that runs it in Config Sync.
func (s Sync) Reconciler() string {
	if s == defaultSync {
		return "root-reconciler"
	}
	return "root-reconciler-" + string(s)
}

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
	if manager == ":root" {
		return defaultSync, true
	}
	name, found := strings.CutPrefix(manager, ":root_")
	return Sync(name), found && name != ""
}
