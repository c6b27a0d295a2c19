// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// found are the attempts of the review that came through, by their numbers there, with the tests that make them now. What
// nothing stops is said in the documentation.
var found = []struct{ number, tests, page, says string }{
	{number: "H1", tests: "TestH1_nothingIsSyncedFromANamespaceInATree TestReserved"},
	{number: "H2", tests: "TestH2_aTenantsRoleBindingsStallNoRootSync TestH2_aCopyUnderTheNameOfABindingStallsNoRootSync"},
	{number: "H3", tests: "TestAnchor_deletedAndMadeAgain"},
	{number: "H4", tests: "TestH4_aCopiedRoleBindingGrantsNoStrongerRoleOfTheChild"},
	{number: "H5", tests: "TestH5_subnamespacesHaveThePodSecurityOfTheirParent"},
	{number: "H6", tests: "TestH6_rightsOfRootSyncsStayInTheirNamespace"},
	{number: "H7", tests: "TestH7_whoMayNotWriteAnObjectDoesNotBlockIt TestH7_whoMayNotWriteInANamespaceKeepsNothingFromGoing TestH7_aClaimWithoutTheRightIsTakenBack"},
	{number: "M1", tests: "TestM1_whoWritesDefinitionsDeletesNoProtectedCustomResources"},
	{number: "M2", tests: "TestM2_labelsThatSelectStay"},
	{number: "M3", tests: "TestM3_definitionsOfHoldfastStayAsTheyAre"},
	{number: "M4", tests: "TestM4_slowBodies TestM4_manyConnections TestM4_forgedReviews TestM4_anOverrideReachesNoOtherObject TestClientCertificates_onlyTheAPIServerIsAnswered"},
	{number: "M5", tests: "TestM5_ownersWithoutANamespaceAreNotHeldUp"},
	{number: "M6", tests: "TestM6_managedLabelsAreNeverThoseOfPodSecurity"},
	{number: "M7", tests: "TestM7_theClaimOfAProtectedVolumeStays"},
	{number: "M8", page: "docs/concepts/protection.md", says: "unsafe-delete-ignore-read-errors"},
	{number: "M9", tests: "TestM9_protectedPodsMakeRoom"},
	{number: "L1", tests: "TestM1_whoWritesDefinitionsDeletesNoProtectedCustomResources"}, // it has a control plane of its own
	{number: "L2", tests: "TestL2_theLeasesOfHoldfast"},
	{number: "L3", page: "docs/concepts/threats.md", says: "CertificateSigningRequests"},
	{number: "L4", page: "docs/concepts/threats.md", says: "labels of Strimzi's"},
	{number: "L5", tests: "TestL5_namesOfRoles"},
	{number: "L6", page: "docs/concepts/protection.md", says: "before 1.37 the API server deletes the **Endpoints**"},
	{number: "L7", page: "docs/concepts/failure.md", says: "thousands of labels"},
	{number: "L8", page: "docs/concepts/protection.md", says: "manualSelector"},
	{number: "L9", page: "docs/guides/rootsync.md", says: "PasswordUnencrypted"},
	{number: "L10", tests: "TestL10_aLinkThatLeadsOutConcernsWhoReadsIt"},
	{number: "L11", tests: "TestL11_namesOfSecrets"},
	{number: "L12", tests: "TestL12_anAccountThatSomebodyMade"},
	{number: "L13", tests: "TestValue_onAnObjectThatIsBeingDeletedIsWarnedOf"},
	{number: "L14", page: "docs/guides/install.md", says: "digest"},
}

// Each attempt that came through has a test, or a sentence where the promise is made.
func TestFound_eachAttemptIsMadeOrDocumented(t *testing.T) {
	t.Parallel()
	tests := testsOfTheTree(t)
	for _, f := range found {
		if f.tests == "" && f.says == "" {
			t.Errorf("%s: neither a test nor a sentence", f.number)
		}
		for name := range strings.FieldsSeq(f.tests) {
			if !tests[name] {
				t.Errorf("%s: the test %s does not exist", f.number, name)
			}
		}
		if f.page == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", "..", f.page))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), f.says) {
			t.Errorf("%s: %s does not say %q", f.number, f.page, f.says)
		}
	}
}
