// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownership knows who claims a namespace and whose it is.
//
// Claims stand on the Namespace itself, in the annotation holdfast.dev/claims, so
// that every process and kubectl see the same. One function, Owner, decides by
// them and by nothing else:
//
//	declared      a RootSync declares the namespace in its source
//	subnamespace  an anchor in the parent made it
//	foreign       another tool manages it, as its marks say
//	implicit      a RootSync needs it for its objects and has not declared it
//
// The first of these ranks that has a claim owns, within it the oldest claim, of
// claims of one age the first by name. So the order in which claims come and go
// does not matter. The time of a claim is when its claimant came to be, such as
// the creation of the RootSync, and not when somebody wrote it down.
//
// Much is known without the annotation: other tools leave marks, HNC names the
// parent, Config Sync names its RootSync. Marks reads those, and they count beside
// what is written. So nothing is written before there is something that marks do
// not say, and where nothing is written the namespace means what it meant before
// Holdfast came.
//
//   - Claims of anchors and of foreign tools live and die with their marks. What is
//     written of them is their time.
//   - Claims of RootSyncs are their own. Whoever gives one up takes its marks off
//     with the same write, or they claim again.
//   - A namespace is found if it was there before any RootSync claimed it. Implicit
//     use never owns a found namespace, so it is adopted by a declaration alone.
//   - A claim of a kind that this version does not know is kept, comes last, and
//     still keeps the namespace from being nobody's.
//
// The annotation begins with the UID of the Namespace. On a Namespace with another UID, such as one that was restored
// from a backup, it has no effect: marks count, and each RootSync claims again.
//
// An annotation that cannot be read decides nothing and is not written to: who
// reads it does nothing to the namespace and says so.
package ownership
