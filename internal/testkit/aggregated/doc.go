// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package aggregated gives tests API groups that the cluster's API server does not serve itself but
// passes on, by an APIService, to an extension API server. That server is a process of this machine,
// from the same binary as the local control plane.
//
// Admission is the extension API server's own affair: the API server in front asks no policy and no
// webhook about a request that it passes on. So there is one group of each sort.
package aggregated
