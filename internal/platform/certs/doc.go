// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certs keeps the serving certificate of the webhooks.
//
// With the provider Holdfast it runs its own certificate authority. Authority
// and serving certificate live in one Secret and are served from memory: there
// are no files, no restart, and no order in which things must be started. What
// the Secret holds is a [State]; [Next], a pure function, says what it should
// become; [Manager] reads, writes and serves it, on every replica. Any replica
// may write. Two that write at once are settled by the resourceVersion, and the
// loser takes what the winner wrote.
//
// With the provider Secret something else, such as cert-manager, keeps the
// Secret, and Holdfast only reads it.
//
// # The Secret
//
//	tls.crt      the serving certificate
//	tls.key      its key
//	ca.crt       every authority to be trusted, oldest first
//	ca.key       the key of the authority that signs; its certificate is the one
//	             in ca.crt that has this key
//	next-ca.key  the same for the authority that will sign next, if there is one
//	ca.since     since when the authority that signs has done so (RFC 3339), as
//	             long as ca.crt holds one that no longer signs
//
// Certificates are in ca.crt alone and keys are matched to them, so that the
// parts of a Secret cannot contradict each other. All other times are read from
// the certificates. The order in ca.crt does not depend on who signs, so that
// the admission objects are not written when that changes.
//
// A Secret that is deleted is written again from the memory of any replica that
// holds all of it: the authority stays, no call fails. A Secret whose content
// is emptied or damaged gets a fresh certificate, and a fresh authority if its
// key is concerned: emptying it is the way to ask for a new authority.
//
// # Why no call fails in a rotation
//
// A call fails when a replica presents a certificate that the API server does
// not trust: its authority is missing from the bundle that the admission objects
// carry. Three things keep the two together.
//
// First, the overlap. A new authority is put into ca.crt, and from there into
// the admission objects, at two thirds of the life of the old one. It signs
// nothing before it has been there for the overlap, a day by default; the old
// one stays for another overlap after that, for replicas that learn of the
// change late and still present the old certificate.
//
// Second, a memory of what is published. The overlap is a time, and a time can
// pass without anything happening: the machine slept, the admission objects
// could not be written, the key of the authority was lost and had to be replaced
// at once. So whoever writes the admission objects, or watches them, tells each
// replica with [Manager.Published] what they carry, and a replica goes on with
// the certificate it has as long as that is valid and trusted, until the new
// one is trusted as well and the API servers have had a moment to see it. A
// replica that is never told relies on the overlap alone.
//
// Third, [Manager.CABundle] holds, beside the content of the Secret, the
// authorities of a certificate that has just been replaced against the rules
// above, for one overlap.
//
// When there is no valid certificate yet, at the very first start, nothing can
// fail: the bundle is nil until the certificate is stored in the Secret, and
// without a bundle no webhook is written that could be called.
//
// What remains is a replica that starts with no memory after the Secret was
// lost: it has nothing to present but a fresh certificate, and calls to it fail
// until the admission objects have the new bundle. The API server never calls
// webhooks for the admission objects themselves, so that this always ends.
package certs
