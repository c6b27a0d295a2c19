// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// itemList is the structured output of a command that answers for several objects.
type itemList[T any] struct {
	metav1.TypeMeta `json:",inline"`
	Items           []T `json:"items"`
}

// encodeList prints a list of the kind; without items it is empty, not null.
func encodeList[T any](c *clients, output, kind string, items []T) error {
	return c.Encode(output, itemList[T]{
		TypeMeta: metav1.TypeMeta{APIVersion: outputVersion, Kind: kind},
		Items:    append([]T{}, items...),
	})
}

// printEach prints text after text, with an empty line between two.
func printEach[T any](c *clients, items []T, text func(T)) {
	for i, item := range items {
		if i > 0 {
			c.Printf("\n")
		}
		text(item)
	}
}
