// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import "testing"

// TestStrimzi is what Strimzi's own tests expect of one account, by their names, where
// no API server is needed for it. What differs says so.
func TestStrimzi(t *testing.T) {
	t.Parallel()
	replace := []string{"existing=Replace"}
	const kept = "@openshift.io/internal-registry-pull-secret-ref=s openshift"
	tests := []decision{
		{name: "testSuccessfulCreation", wants: ":owner foo=bar", did: "Create", after: "foo=bar us\nowner 1 us"},
		{
			name: "testSecretsPatching", live: kept, wants: "label=l @anno=a", settings: replace,
			did: "Replace", after: "@anno=a us\n" + kept + "\nlabel=l us",
		},
		{name: "testSecretsPatchingNoChange", live: kept, wants: ":created=0", settings: replace},
		{name: "testCreateWhenExistsWithChangeIsAPatch, where nothing changes despite its name", live: "foo=bar strimzi", wants: "foo=bar", settings: replace},
		{name: "testCreateWhenExistsWithoutChangeIsNotAPatch", live: "foo=bar us!", wants: "foo=bar"},
		{name: "testDeleteWhenResourceDoesNotExistIsANop", wants: ":owner :disabled", after: "gone"},
		{name: "testReconcileDeleteWhenResourceExistsStillDeletes", live: "owner 1 us", wants: ":owner :disabled", did: "Delete", after: "gone"},
		{name: "testReconcileDeletionDoesNotTimeoutWhenResourceIsAlreadyDeleted", live: "deleting\nowner 1 us", wants: ":owner :disabled"},
		{
			name: "testModifyWithForceServerSideApply, with one write for two", live: "foo=bar other", wants: ":conflicts=Force foo=bar2",
			did: "Apply by force", after: "foo=bar2 us!",
		},
		{
			name: "ServiceAccountOperatorIT.testCreateModifyDelete", live: "foo=bar us\nowner 1 us", wants: ":owner foo2=bar2",
			did: "TakeOver, Apply", after: "foo2=bar2 us!\nowner 1 us!",
		},
		{
			name: "ServiceAccountOperatorServerSideApplyIT.testCreateModifyDelete, with the automount setting left to whoever made it",
			live: "foo=bar us!\n@my-annotation2=x third\nautomount third", wants: "foo=bar foo2=bar2",
			did: "Apply", after: "@my-annotation2=x third\nautomount third\nfoo=bar us!\nfoo2=bar2 us!",
		},
	}
	for _, test := range tests {
		t.Run(test.name, test.run)
	}
}
