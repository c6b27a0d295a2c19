// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lease fences the writes of a leader.
//
// A process that was stopped for longer than its lease, by the kernel, a hypervisor or a busy node, still believes to lead
// when it runs again, and leader election ends it only when it has tried to renew for a while. Until then it would write what
// it knew before, beside the leader of now. So each of its writes asks first whether the lease can still be its own.
//
// No lease fences a request that has been sent: what was on its way when the process stopped arrives all the same. Deletes
// carry the UID and the resource version for that.
package lease
