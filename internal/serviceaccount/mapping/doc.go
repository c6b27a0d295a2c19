// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mapping says which service accounts an object is to have, and what is to be
// on them: a ServiceAccountTemplate is compiled into a Mapping, and a Mapping tells the
// accounts of an object. It is pure.
package mapping
