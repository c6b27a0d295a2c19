// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package world follows what the API server has of trees: namespaces and what is
// configured about them, the objects that are copied, and the copies. Every
// replica has its own World, which answers webhooks; the one of the leader also
// says what has to be looked at again.
//
// A World goes in two phases. First it only learns; when it knows all namespaces
// and everything that says where they stand, it works out the tree and is ready.
// A kind takes part once all of its objects are known. So a missing object never
// means one that was not seen yet.
//
// Sources are kept whole, copies as what identifies them and a digest.
package world
