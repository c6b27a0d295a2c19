// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

// series are given as in Prometheus's own tests: "a 0+1x5" is 0 to 5, a minute apart.
var alertTests = []struct {
	alert, name string
	// series are one a line.
	series string
	// after is when it is looked at; half an hour where it is empty.
	after time.Duration
	// want are the labels of what fires beside severity and name, each "{a="b"}".
	want []string
}{
	{alert: "HoldfastGuardDown", name: "nothing is scraped", want: []string{"{}"}},
	{alert: "HoldfastGuardDown", name: "one replica is", series: `holdfast_certificate_expiry_timestamp_seconds{kind="serving",instance="a"} 9e9x30`},
	{alert: "HoldfastGuardDown", name: "the sync alone is", series: `holdfast_config_last_reload_successful{job="holdfast-sync"} 1x30`, want: []string{"{}"}},
	{alert: "HoldfastAnchorMissing", name: "there is none", series: `holdfast_anchor_present 0x30`, want: []string{"{}"}},
	{alert: "HoldfastAnchorMissing", name: "the leader has it", series: "holdfast_anchor_present{instance=\"a\"} 0x30\nholdfast_anchor_present{instance=\"b\"} 1x30"},
	{alert: "HoldfastNotInstalled", name: "something is not", series: `holdfast_admission_installed 0x30`, want: []string{"{}"}},
	{alert: "HoldfastNotInstalled", name: "for a moment it is not", series: `holdfast_admission_installed 1x27 0x2`},
	{alert: "HoldfastNotInstalled", name: "everything is", series: `holdfast_admission_installed 1x30`},
	{alert: "HoldfastNoLeader", name: "nobody leads", series: `holdfast_config_last_reload_successful 1x30`, want: []string{"{}"}},
	{alert: "HoldfastNoLeader", name: "somebody leads, with something missing", series: `holdfast_admission_installed 0x30`},
	{alert: "HoldfastRepairedPolicies", name: "one was put back", series: `holdfast_admission_repairs_total{kind="ValidatingAdmissionPolicy"} 0x25 1x5`, want: []string{"{}"}},
	{alert: "HoldfastRepairedPolicies", name: "one was, half an hour ago", series: `holdfast_admission_repairs_total{kind="ValidatingAdmissionPolicy"} 0x2 1x30`},
	{alert: "HoldfastConfigurationRefused", name: "by one process", series: "holdfast_config_last_reload_successful{job=\"guard\"} 1x30\nholdfast_config_last_reload_successful{job=\"sync\"} 0x30", want: []string{"{}"}},
	{alert: "HoldfastConfigurationRefused", name: "for its environment", series: "holdfast_config_last_reload_successful 1x30\nholdfast_condition{type=\"ConfigurationAccepted\"} 0x30", want: []string{"{}"}},
	{alert: "HoldfastConfigurationRefused", name: "by none", series: `holdfast_config_last_reload_successful 1x30`},
	{alert: "HoldfastCertificateExpires", name: "in two days", series: `holdfast_certificate_expiry_timestamp_seconds{kind="serving"} 172800x30`, want: []string{"{}"}},
	{alert: "HoldfastCertificateExpires", name: "in a month", series: `holdfast_certificate_expiry_timestamp_seconds{kind="serving"} 2592000x30`},
	{alert: "HoldfastCertificateExpired", name: "a minute ago", series: `holdfast_certificate_expiry_timestamp_seconds{kind="authority"} 1740x30`, want: []string{"{}"}},
	{alert: "HoldfastCertificateExpired", name: "in a minute", series: `holdfast_certificate_expiry_timestamp_seconds{kind="authority"} 1860x30`},
	{
		alert: "HoldfastWebhookUnanswered", name: "and the request was refused",
		series: `apiserver_admission_webhook_rejection_count{name="subnamespaceanchors.hnc.x-k8s.io",error_type="calling_webhook_error"} 0x25 1x5`,
		want:   []string{`{name="subnamespaceanchors.hnc.x-k8s.io"}`},
	},
	{
		alert: "HoldfastWebhookUnanswered", name: "and the request passed",
		series: `apiserver_admission_webhook_fail_open_count{name="strimzi-drain-cleaner.strimzi.io",type="validating"} 0x25 1x5`,
		want:   []string{`{name="strimzi-drain-cleaner.strimzi.io"}`},
	},
	{alert: "HoldfastWebhookUnanswered", name: "but refused by it", series: `apiserver_admission_webhook_rejection_count{name="configuration.holdfast.dev",error_type="no_error"} 0+1x30`},
	{alert: "HoldfastWebhookUnanswered", name: "but somebody else's", series: `apiserver_admission_webhook_fail_open_count{name="a.example.com"} 0+1x30`},
	{
		alert: "HoldfastWebhooksSlow", name: "they are", want: []string{`{name="a.holdfast.dev"}`},
		series: "apiserver_admission_webhook_admission_duration_seconds_bucket{name=\"a.holdfast.dev\",le=\"2.5\"} 0+1x30\n" +
			"apiserver_admission_webhook_admission_duration_seconds_bucket{name=\"a.holdfast.dev\",le=\"10\"} 0+9x30\n" +
			"apiserver_admission_webhook_admission_duration_seconds_bucket{name=\"a.holdfast.dev\",le=\"+Inf\"} 0+9x30",
	},
	{
		alert: "HoldfastWebhooksSlow", name: "they are not",
		series: "apiserver_admission_webhook_admission_duration_seconds_bucket{name=\"a.holdfast.dev\",le=\"0.1\"} 0+9x30\n" +
			"apiserver_admission_webhook_admission_duration_seconds_bucket{name=\"a.holdfast.dev\",le=\"+Inf\"} 0+9x30",
	},
	{
		alert: "HoldfastRequestsFail", name: "one a second", want: []string{`{instance="a"}`},
		series: "rest_client_requests_total{instance=\"a\",code=\"500\"} 0+60x30\nholdfast_config_last_reload_successful{instance=\"a\"} 1x30",
	},
	{alert: "HoldfastRequestsFail", name: "those of somebody else", series: "rest_client_requests_total{instance=\"b\",code=\"500\"} 0+60x30\nholdfast_config_last_reload_successful{instance=\"a\"} 1x30"},
	{alert: "HoldfastRequestsFail", name: "none does", series: "rest_client_requests_total{instance=\"a\",code=\"200\"} 0+60x30\nholdfast_config_last_reload_successful{instance=\"a\"} 1x30"},
	{alert: "HoldfastStrangerAtTheWebhooks", name: "there is one", series: `controller_runtime_webhook_requests_total{webhook="/drainer",code="405"} 0+5x30`, want: []string{"{}"}},
	{alert: "HoldfastStrangerAtTheWebhooks", name: "there is the API server", series: `controller_runtime_webhook_requests_total{webhook="/drainer",code="200"} 0+5x30`},
	{alert: "HoldfastCannotSeeEverything", name: "a kind cannot be listed", series: "holdfast_deletion_watches_unsynced 1x30\nholdfast_deletion_watches_failing 0x30", want: []string{"{}"}},
	{alert: "HoldfastCannotSeeEverything", name: "a watch fails", series: "holdfast_deletion_watches_unsynced 0x30\nholdfast_deletion_watches_failing 2x30", want: []string{"{}"}},
	{alert: "HoldfastCannotSeeEverything", name: "all are well", series: "holdfast_deletion_watches_unsynced 0x30\nholdfast_deletion_watches_failing 0x30"},
	{alert: "HoldfastSecondEvictionGuard", name: "there is one", series: `holdfast_condition{type="EvictionGuardAlone"} 0x30`, want: []string{"{}"}},
	{alert: "HoldfastSecondEvictionGuard", name: "there is none", series: `holdfast_condition{type="EvictionGuardAlone"} 1x30`},
	{alert: "HoldfastEvictionScopeNotServed", name: "it is not", series: `holdfast_condition{type="EvictionScopeServed"} 0x30`, want: []string{"{}"}},
	{alert: "HoldfastEvictionScopeNotServed", name: "it is", series: "holdfast_condition{type=\"EvictionScopeServed\"} 1x30\nholdfast_condition{type=\"Ready\"} 0x30"},
	{alert: "HoldfastEvictionsUnjudged", name: "one was", series: `holdfast_eviction_reviews_total{by="none",outcome="unjudged"} 0x25 1x5`, want: []string{"{}"}},
	{alert: "HoldfastEvictionsUnjudged", name: "all were judged", series: `holdfast_eviction_reviews_total{by="policy",outcome="held"} 0+1x30`},
	{alert: "HoldfastPodsNotWritten", name: "one was not", series: `holdfast_eviction_pod_patches_total{result="forbidden"} 0x25 1x5`, want: []string{"{}"}},
	{alert: "HoldfastPodsNotWritten", name: "they were, or had gone", series: "holdfast_eviction_pod_patches_total{result=\"ok\"} 0+1x30\nholdfast_eviction_pod_patches_total{result=\"not-found\"} 0+1x30"},
	{alert: "HoldfastPodsWaitLong", name: "one does", after: 3 * time.Hour, series: `holdfast_eviction_waiting_pods 1x180`, want: []string{"{}"}},
	{alert: "HoldfastPodsWaitLong", name: "none did in between", after: 3 * time.Hour, series: `holdfast_eviction_waiting_pods 1x100 0x20 1x60`},
	{alert: "HoldfastHierarchyNotAlone", name: "HNC is there", series: `holdfast_condition{type="HierarchyAlone"} 0x30`, want: []string{"{}"}},
	{alert: "HoldfastHierarchyNotAlone", name: "the feature is off", series: `holdfast_condition{type="Ready"} 0x30`},
	{alert: "HoldfastHierarchyBlind", name: "it is", series: `holdfast_condition{type="HierarchyKnown"} 0x30`, want: []string{"{}"}},
	{alert: "HoldfastHierarchyBlind", name: "it starts", series: `holdfast_condition{type="HierarchyKnown"} 0x5 1x25`},
	{
		alert: "HoldfastTreesHalted", name: "there is a cycle", want: []string{`{Reason="InCycle"}`},
		series: "hnc_namespace_conditions{Condition=\"ActivitiesHalted\",Reason=\"InCycle\"} 2x30\nhnc_namespace_conditions{Condition=\"ActivitiesHalted\",Reason=\"ParentMissing\"} 0x30",
	},
	{alert: "HoldfastTreesHalted", name: "none is", series: `hnc_namespace_conditions{Condition="BadConfiguration",Reason="AnchorMissing"} 1x30`},
	{alert: "HoldfastTreesBadConfiguration", name: "an anchor is missing", after: 2 * time.Hour, series: `hnc_namespace_conditions{Condition="BadConfiguration",Reason="AnchorMissing"} 1x120`, want: []string{`{Reason="AnchorMissing"}`}},
	{alert: "HoldfastTreesBadConfiguration", name: "for half an hour", series: `hnc_namespace_conditions{Condition="BadConfiguration",Reason="AnchorMissing"} 1x30`},
	{alert: "HoldfastServiceAccountsNotKept", name: "they are not", series: `holdfast_condition{type="ServiceAccountsKept"} 0x30`, want: []string{"{}"}},
	{alert: "HoldfastServiceAccountsNotKept", name: "they are", series: `holdfast_condition{type="ServiceAccountsKept"} 1x30`},
	{alert: "HoldfastServiceAccountProblems", name: "another owns one", after: time.Hour, series: `holdfast_serviceaccount_problems{problem="OwnedByAnother"} 1x60`, want: []string{`{problem="OwnedByAnother"}`}},
	{alert: "HoldfastServiceAccountProblems", name: "there are none", after: time.Hour, series: `holdfast_serviceaccount_problems{problem="OwnedByAnother"} 0x60`},
	{alert: "HoldfastServiceAccountFights", name: "there is one", series: `holdfast_serviceaccount_fights_total 0x25 1x5`, want: []string{"{}"}},
	{alert: "HoldfastServiceAccountFights", name: "there was one", series: `holdfast_serviceaccount_fights_total 1x30`},
	{alert: "HoldfastSyncDown", name: "nobody leads", series: `holdfast_config_last_reload_successful{job="holdfast-sync"} 1x30`, want: []string{"{}"}},
	{alert: "HoldfastSyncDown", name: "somebody leads", series: `holdfast_rootsync_syncs{status="synced"} 0x30`},
	{alert: "HoldfastRootSyncFailing", name: "one of two", series: "holdfast_rootsync_errors{rootsync=\"a\"} 3x30\nholdfast_rootsync_errors{rootsync=\"b\"} 0x30", want: []string{`{rootsync="a"}`}},
	{alert: "HoldfastRootSyncFailing", name: "for a moment", series: `holdfast_rootsync_errors{rootsync="a"} 0x20 3x10`},
	{alert: "HoldfastRootSyncLags", name: "one of two", series: "holdfast_rootsync_lag_seconds{rootsync=\"a\"} 1900x30\nholdfast_rootsync_lag_seconds{rootsync=\"b\"} 0x30", want: []string{`{rootsync="a"}`}},
	{alert: "HoldfastRootSyncLags", name: "not for long yet", series: `holdfast_rootsync_lag_seconds{rootsync="a"} 0+60x30`},
	{alert: "HoldfastRootSyncFights", name: "there is one", series: `holdfast_rootsync_fights_total 0x25 1x5`, want: []string{"{}"}},
	{alert: "HoldfastRootSyncFights", name: "there is none", series: `holdfast_rootsync_fights_total 0x30`},
	{
		alert: "HoldfastSourcesUnreachable", name: "none can be", after: time.Hour, want: []string{"{}"},
		series: "holdfast_rootsync_source_requests_total{what=\"poll\",result=\"failure\"} 0+1x60\nholdfast_rootsync_source_requests_total{what=\"poll\",result=\"success\"} 5x60",
	},
	{
		alert: "HoldfastSourcesUnreachable", name: "one of two can be", after: time.Hour,
		series: "holdfast_rootsync_source_requests_total{what=\"poll\",result=\"failure\"} 0+1x60\nholdfast_rootsync_source_requests_total{what=\"poll\",result=\"success\"} 0+1x60",
	},
}

// Each alert has a row in which it fires, and one in which it does not.
func TestAlerts(t *testing.T) {
	t.Parallel()
	byName := map[string]rulefmt.Rule{}
	for _, g := range groups(t).Groups {
		for _, r := range g.Rules {
			byName[r.Alert] = r
		}
	}
	fires, rests := map[string]bool{}, map[string]bool{}
	for _, tt := range alertTests {
		rule, known := byName[tt.alert]
		if !known {
			t.Errorf("there is no alert %s", tt.alert)
			continue
		}
		fires[tt.alert] = fires[tt.alert] || len(tt.want) > 0
		rests[tt.alert] = rests[tt.alert] || len(tt.want) == 0
		t.Run(tt.alert+": "+tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.after == 0 {
				tt.after = 30 * time.Minute
			}
			if diff := cmp.Diff(tt.want, firing(t, rule, tt.series, tt.after)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for name := range byName {
		if !fires[name] || !rests[name] {
			t.Errorf("%s needs a row in which it fires, and one in which it does not", name)
		}
	}
}

// firing has Prometheus's own engine evaluate a rule once a minute, and returns the
// labels of what fires in the end.
func firing(t *testing.T, r rulefmt.Rule, series string, after time.Duration) (out []string) {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 1m\n  "+strings.ReplaceAll(series, "\n", "\n  "))
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	rule := rules.NewAlertingRule(r.Alert, parsed(t, r.Expr), time.Duration(r.For), time.Duration(r.KeepFiringFor),
		labels.FromMap(r.Labels), labels.FromMap(r.Annotations), labels.EmptyLabels(), "", true, promslog.NewNopLogger())
	for at := time.Duration(0); at <= after; at += time.Minute {
		if _, err := rule.Eval(t.Context(), 0, time.Unix(0, 0).Add(at), rules.EngineQueryFunc(engine, storage), &url.URL{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range rule.ActiveAlerts() {
		if a.State != rules.StateFiring {
			continue
		}
		a.Annotations.Range(func(l labels.Label) {
			if strings.Contains(l.Value, "<no value>") || strings.Contains(l.Value, "<error") {
				t.Errorf("the %s becomes %q", l.Name, l.Value)
			}
		})
		out = append(out, labels.NewBuilder(a.Labels).Del("severity", labels.AlertName).Labels().String())
	}
	return out
}
