// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// Labels.
const (
	// LabelTreeDepthSuffix follows the name of an ancestor in a label of a
	// namespace; the value is how many steps above it that ancestor is, 0 for the
	// namespace itself.
	LabelTreeDepthSuffix = ".tree." + GroupName + "/depth"
	// LabelIncludedNamespace is "true" on every namespace that is managed.
	LabelIncludedNamespace = GroupName + "/included-namespace"
	// LabelExcludedNamespace is "true" on namespaces that are not. It counts on
	// those alone that the configuration lists.
	LabelExcludedNamespace = GroupName + "/excluded-namespace"
	// LabelInheritedFrom is on every copy, and names the namespace of its source.
	LabelInheritedFrom = GroupName + "/inherited-from"
	// LabelManagedBy is on every copy, with the value ManagedBy.
	LabelManagedBy = "app.kubernetes.io/managed-by"
)

const (
	// ManagedBy is the value of LabelManagedBy on a copy.
	ManagedBy = GroupName
	// ValueTrue is the value of labels that say yes.
	ValueTrue = "true"
)

// Annotations.
const (
	// AnnotationSubnamespaceOf makes a namespace a subnamespace of the one it
	// names. It wins over the parent in the HierarchyConfiguration.
	AnnotationSubnamespaceOf = GroupName + "/subnamespace-of"
	// AnnotationManagedBy with a value that is neither empty nor GroupName makes a
	// namespace external: its labels are somebody else's, and it has no parent.
	AnnotationManagedBy = GroupName + "/managed-by"

	// AnnotationPropagatePrefix is the prefix of the keys of exceptions.
	AnnotationPropagatePrefix = "propagate." + GroupName
	// AnnotationSelect is a label selector; copies go to the namespaces that it
	// matches.
	AnnotationSelect = AnnotationPropagatePrefix + "/select"
	// AnnotationTreeSelect is a list of namespaces, separated by commas; copies go
	// to the subtree of the one without a "!", and to none with one.
	AnnotationTreeSelect = AnnotationPropagatePrefix + "/treeSelect"
	// AnnotationNone says, if true, that there are no copies.
	AnnotationNone = AnnotationPropagatePrefix + "/none"
	// AnnotationAll says, if true, that copies go everywhere.
	AnnotationAll = AnnotationPropagatePrefix + "/all"
)

// Finalizers.
const (
	// FinalizerAnchor is on an anchor until its subnamespace is gone.
	FinalizerAnchor = GroupName
	// FinalizerHasSubnamespace is on a HierarchyConfiguration while there are
	// anchors beside it, so that allowCascadingDeletion is known to the end.
	FinalizerHasSubnamespace = GroupName + "/hasSubnamespace"
)

// Condition types of a HierarchyConfiguration. One that is there is true.
const (
	// ConditionActivitiesHalted says that nothing is copied to the namespace and
	// those below, nor taken away.
	ConditionActivitiesHalted = "ActivitiesHalted"
	// ConditionBadConfiguration says that something was asked for that cannot be.
	ConditionBadConfiguration = "BadConfiguration"
)

// Condition types of the HNCConfiguration, beside BadConfiguration.
const (
	// ConditionOutOfSync says that a kind cannot be propagated at the moment.
	ConditionOutOfSync = "OutOfSync"
	// ConditionNamespace says that namespaces have conditions; its reason is the
	// type of those.
	ConditionNamespace = "NamespaceCondition"
)

// Condition reasons of a HierarchyConfiguration.
const (
	// ReasonAncestorHalted says that a namespace above is halted.
	ReasonAncestorHalted = "AncestorHaltActivities"
	// ReasonAnchorMissing says that a subnamespace has no anchor in its parent.
	ReasonAnchorMissing = "SubnamespaceAnchorMissing"
	// ReasonDeletingCRD says that the CRD of HierarchyConfigurations is on its way
	// out.
	ReasonDeletingCRD = "DeletingCRD"
	// ReasonIllegalManagedAnnotation says that an annotation may not be managed.
	ReasonIllegalManagedAnnotation = "IllegalManagedAnnotation"
	// ReasonIllegalManagedLabel says that a label may not be managed.
	ReasonIllegalManagedLabel = "IllegalManagedLabel"
	// ReasonIllegalParent says that the parent is not managed.
	ReasonIllegalParent = "IllegalParent"
	// ReasonInCycle says that the namespace is its own ancestor.
	ReasonInCycle = "InCycle"
	// ReasonParentMissing says that the parent does not exist.
	ReasonParentMissing = "ParentMissing"
)

// Condition reasons of the HNCConfiguration.
const (
	// ReasonMultipleConfigurations says that two entries are about one kind.
	ReasonMultipleConfigurations = "MultipleConfigurationsForType"
	// ReasonResourceNotFound says that an entry names a resource that is not served.
	ReasonResourceNotFound = "ResourceNotFound"
	// ReasonResourceNotNamespaced says that an entry names a cluster-scoped one.
	ReasonResourceNotNamespaced = "ResourceNotNamespaced"
	// ReasonCopiesHeld says that copies do not go, although nothing is above them any
	// more that they could be copies of, until somebody consents. HNC has no such reason.
	ReasonCopiesHeld = "CopiesHeld"
	// ReasonUnknown says that something else went wrong.
	ReasonUnknown = "Unknown"
)

// Reasons of events.
const (
	// EventCannotPropagate is sent about a source that cannot be copied.
	EventCannotPropagate = "CannotPropagateObject"
	// EventCannotUpdate is sent about a copy that cannot be written.
	EventCannotUpdate = "CannotUpdateObject"
	// EventCannotParseSelector is sent about a source with a bad exception.
	EventCannotParseSelector = "CannotParseSelector"
	// EventSource is the component that sends them.
	EventSource = GroupName
)
