// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

func TestPlural(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"Kafka": "kafkas", "StrimziPodSet": "strimzipodsets", "Prometheus": "prometheuses", "Elasticsearch": "elasticsearches", "Mesh": "meshes",
		"Box": "boxes", "Proxy": "proxies", "Gateway": "gateways", "Y": "ys", "": "s",
	} {
		if got := Plural(kind); got != want {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
	}
}
