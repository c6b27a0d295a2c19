// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply brings the objects of one RootSync to the cluster, keeps them as they are
// declared, and takes away those that are declared no longer.
//
// An Engine has a queue of objects. Whatever happens to one of them puts it into the
// queue: another declaration, a change that the watch tells of, another object that it
// waited for. Each time it is decided anew what to do (package decide), so nothing
// depends on the order of events, and an object that cannot be applied stops those that
// need it and no others.
package apply
