// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package helper is what git runs of Holdfast itself: it answers when git asks for a user
// name and a password, and speaks ssh for it. So the image needs no ssh client, and no
// user of the system that such a client would look up; a password or a key stands in no
// file and in no argument, and nothing that a client would read at home counts.
package helper
