// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan decides what is done about one service account: given what objects want
// of it and how it is, Decide says the next write, if any, and reports key by key what
// is to change and whose each key is. It is pure: the controller, the report and the
// command line all ask it.
//
// A write changes the account, and what comes next is for the next decision. So a
// take-over is two writes, and whoever is killed between them leaves nothing half
// done.
package plan
