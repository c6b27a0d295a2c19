// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Hello is a program to put into an image.
package main

import "k8s.io/utils/ptr"

func main() { println(ptr.Deref(nil, "hello")) }
