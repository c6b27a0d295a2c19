// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Hello is a program to put into an image.
package main

import "github.com/spf13/pflag"

func main() { pflag.Parse() }
