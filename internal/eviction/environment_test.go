// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
)

func TestReadEnvironment(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  map[string]string
		// file is what the configuration says below eviction.
		file string
		// want is what is in force, as JSON of parts of it.
		want            func(*configv1alpha1.EvictionConfiguration)
		notes, mistakes []string
		err             string
	}{
		{name: "nothing set leaves the defaults", want: func(*configv1alpha1.EvictionConfiguration) {}},
		{
			name: "the values of the Drain Cleaner's install files are the defaults",
			env: map[string]string{
				"STRIMZI_DRAIN_KAFKA": "true", "STRIMZI_DRAIN_ZOOKEEPER": "true", "STRIMZI_DENY_EVICTION": "true",
				"STRIMZI_CERTIFICATE_WATCH_ENABLED": "false\n",
			},
			want: func(*configv1alpha1.EvictionConfiguration) {},
		},
		{
			name: "flags go before the file", file: "{drainCleaner: {kafka: true, denyEviction: true}}",
			env: map[string]string{"STRIMZI_DRAIN_KAFKA": "false", "STRIMZI_DENY_EVICTION": "0"},
			want: func(c *configv1alpha1.EvictionConfiguration) {
				c.DrainCleaner.Kafka, c.DrainCleaner.DenyEviction = new(false), new(false)
			},
		},
		{
			name: "a flag is true for yes, y, on and 1, in any case, and false for no, n, off and 0",
			env:  map[string]string{"STRIMZI_DRAIN_KAFKA": "YES", "STRIMZI_DRAIN_ZOOKEEPER": "No", "STRIMZI_DENY_EVICTION": "On"},
			want: func(c *configv1alpha1.EvictionConfiguration) { c.DrainCleaner.ZooKeeper = new(false) },
		},
		{
			name: "white space around a flag does not count, as a line end in a Secret",
			env:  map[string]string{"STRIMZI_DRAIN_KAFKA": " true", "STRIMZI_DRAIN_ZOOKEEPER": "\tfalse ", "STRIMZI_DENY_EVICTION": "true\n"},
			want: func(c *configv1alpha1.EvictionConfiguration) { c.DrainCleaner.ZooKeeper = new(false) },
		},
		{
			name: "the other words that the Drain Cleaner reads as true are true",
			env:  map[string]string{"STRIMZI_DRAIN_KAFKA": "Oui", "STRIMZI_DRAIN_ZOOKEEPER": "ja", "STRIMZI_DENY_EVICTION": "sim"},
			want: func(*configv1alpha1.EvictionConfiguration) {},
		},
		{
			name: "any other word is false and a mistake", env: map[string]string{"STRIMZI_DENY_EVICTION": "enabled"},
			want:     func(c *configv1alpha1.EvictionConfiguration) { c.DrainCleaner.DenyEviction = new(false) },
			mistakes: []string{`STRIMZI_DENY_EVICTION="enabled" is neither true nor false, and false is in force`},
		},
		{name: "an empty flag stops the start", env: map[string]string{"STRIMZI_DRAIN_KAFKA": ""}, err: "STRIMZI_DRAIN_KAFKA is empty"},
		{name: "a blank flag does too", env: map[string]string{"STRIMZI_DRAIN_KAFKA": " \n"}, err: "STRIMZI_DRAIN_KAFKA is empty"},
		{
			name: "namespaces go before the file", file: "{scope: {namespaces: [other]}}",
			env: map[string]string{"STRIMZI_DRAIN_NAMESPACES": " kafka-prod , kafka-dev "},
			want: func(c *configv1alpha1.EvictionConfiguration) {
				c.Scope.Namespaces = []string{"kafka-prod", "kafka-dev"}
			},
		},
		{
			name: "a star means all, also where the file has fewer", file: "{scope: {namespaces: [other]}}",
			env:  map[string]string{"STRIMZI_DRAIN_NAMESPACES": "*"},
			want: func(*configv1alpha1.EvictionConfiguration) {},
		},
		{
			name: "nothing but blank items means all", env: map[string]string{"STRIMZI_DRAIN_NAMESPACES": " , ,"},
			want: func(*configv1alpha1.EvictionConfiguration) {},
		},
		{
			name: "a list that is not valid means all, loudly", env: map[string]string{"STRIMZI_DRAIN_NAMESPACES": "kafka-*,dev"},
			want:     func(*configv1alpha1.EvictionConfiguration) {},
			mistakes: []string{"ALL namespaces are guarded"},
		},
		{
			name: "the request timeout is in milliseconds",
			env:  map[string]string{"QUARKUS_KUBERNETES_CLIENT_REQUEST_TIMEOUT": "1500", "QUARKUS_KUBERNETES_CLIENT_CONNECTION_TIMEOUT": "1500"},
			want: func(c *configv1alpha1.EvictionConfiguration) {
				c.RequestTimeout.Duration = 1500 * 1e6
			},
			notes: []string{"CONNECTION_TIMEOUT has no effect"},
		},
		{
			name: "or has a unit", env: map[string]string{"QUARKUS_KUBERNETES_CLIENT_REQUEST_TIMEOUT": "2S\n"},
			want: func(c *configv1alpha1.EvictionConfiguration) { c.RequestTimeout.Duration = 2e9 },
		},
		{name: "a timeout that is none stops the start", env: map[string]string{"QUARKUS_KUBERNETES_CLIENT_REQUEST_TIMEOUT": "soon"}, err: "milliseconds"},
		{
			name: "the watch of the certificate is not needed",
			env:  map[string]string{"STRIMZI_CERTIFICATE_WATCH_ENABLED": "true", "STRIMZI_CERTIFICATE_WATCH_POD_NAME": "p"},
			want: func(*configv1alpha1.EvictionConfiguration) {}, notes: []string{"by itself", "no pod is deleted"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env, err := eviction.ReadEnvironment(func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok })
			if err != nil || tt.err != "" {
				if err == nil || tt.err == "" || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want an error with %q", err, tt.err)
				}
				return
			}
			file := config.Empty
			if tt.file != "" {
				file += "eviction: " + tt.file + "\n"
			}
			got, err := config.Loader{Overrides: env.Overrides}.Load([]byte(file))
			if err != nil {
				t.Fatal(err)
			}
			want, err := config.Load([]byte(config.Empty))
			if err != nil {
				t.Fatal(err)
			}
			tt.want(&want.Eviction)
			if diff := cmp.Diff(want.Eviction, got.Eviction); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
			said(t, "notes", tt.notes, env.Notes)
			said(t, "mistakes", tt.mistakes, env.Mistakes)
		})
	}
}

// said compares texts with a part of each.
func said(t *testing.T, what string, want, got []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got the %s %q, want %q", what, got, want)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("%s: %q does not say %q", what, got[i], want[i])
		}
	}
}
