// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package git reads Git repositories by the program "git": what a server has by
// "git ls-remote", a commit by a shallow fetch into a bare repository, its files by
// "git cat-file" into a folder. Nothing of what a repository has is run: there is no work
// tree, hence no hook and no filter, and no configuration but that of this package.
package git
