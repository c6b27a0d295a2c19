// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Report is what was found in the clusters.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	Clusters        []Cluster `json:"clusters"`
}

// Cluster is what was found in one.
type Cluster struct {
	// Context is that of the kubeconfig; empty for the current one.
	Context string `json:"context,omitempty"`
	Server  string `json:"server"`
	// Kubernetes is the version of the API server.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Holdfast is the version that runs there; empty if none does.
	Holdfast string    `json:"holdfast,omitempty"`
	Findings []Finding `json:"findings"`
	// Features are what each is about now, whether it is on or not.
	Features []Feature `json:"features,omitempty"`
	// NotLookedAt are parts about which nothing is known.
	NotLookedAt []Gap `json:"notLookedAt,omitempty"`
}

// Level says how much a finding matters.
type Level string

const (
	// OK is as it should be.
	OK Level = "OK"
	// Note is good to know.
	Note Level = "Note"
	// Warning has to be dealt with before something is turned on, or soon.
	Warning Level = "Warning"
	// Problem keeps Holdfast from doing what it is to do.
	Problem Level = "Problem"
)

// Area is what a finding is about.
type Area string

// The areas.
const (
	Kubernetes   Area = "Kubernetes"
	Installation Area = "Installation"
	Certificates Area = "Certificates"
	Others       Area = "Others"
)

// Finding is one thing that was found.
type Finding struct {
	Area    Area   `json:"area"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
	// Remedy is what to do about it; empty where there is nothing to do.
	Remedy string `json:"remedy,omitempty"`
}

// Feature is what a feature is about in the cluster, and would be if it were on.
type Feature struct {
	Name string `json:"name"`
	// Mode that is configured.
	Mode string `json:"mode"`
	// InScope and OutOfScope are numbers of namespaces.
	InScope    int     `json:"namespacesInScope"`
	OutOfScope int     `json:"namespacesOutOfScope"`
	Counts     []Count `json:"counts,omitempty"`
}

// Count is how many there are of something.
type Count struct {
	What  string `json:"what"`
	Count int    `json:"count"`
}

// Gap is a part that could not be looked at.
type Gap struct {
	Part   string `json:"part"`
	Reason string `json:"reason"`
}

// verdict says what a report comes to.
func (r *Report) verdict() (problems, gaps bool) {
	for _, c := range r.Clusters {
		gaps = gaps || len(c.NotLookedAt) > 0
		for _, f := range c.Findings {
			problems = problems || f.Level == Problem
		}
	}
	return problems, gaps
}
