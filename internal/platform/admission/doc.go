// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission writes, heals and removes Holdfast's own admission objects.
//
// Features declare policies and webhooks in Go (Declaration). A rule that needs
// only the request and the object is a Policy: it runs inside the API server
// and holds while Holdfast is down. A Webhook is for what CEL cannot do.
//
// Every object that is written is owned by one ClusterRole, the anchor. While
// the anchor is there the Reconciler puts back what is changed or deleted. When
// it is deleted the cluster's garbage collector removes every object, with
// Holdfast dead or alive, and the Reconciler writes nothing until the anchor is
// made again.
package admission
