// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serving is the server of the webhook port. Each path of the port is behind the same bounds: on connections, on
// the size of a body, on the memory of all bodies together, and on time. Optionally clients need a certificate.
//
// # Why clients share what is bounded
//
// The port answers every client that reaches it, because API servers present no certificate unless they are configured
// to. A plain limit would let one slow client use all of it up and so have the API server refused. So a client, which is
// an IP address here, loses connections and transfers to another that holds less, and one that has most of the
// connections also those that the server is working on: see [share].
//
// An API server sends its reviews over HTTP/1.1, one at a time on a connection, and as many connections as it has
// requests in flight. It sends a review at once, mostly a few KiB. So:
//
//   - A review of at most 32 KiB needs no share of the memory for bodies: there are at most as many of them as connections.
//     Large reviews of others never delay it.
//   - A transfer that takes longer than a few seconds is ended.
//   - HTTP/2 is not offered. One connection is one request, so that the number of connections bounds everything.
//
// # How overload is answered
//
// With an HTTP status, and without Retry-After. To an API server every status but 200 is a call that failed: a webhook
// whose failure policy is Fail refuses the request that the API server asks about, and one with Ignore is passed over.
// So the server need not know which of the two a path is.
package serving
