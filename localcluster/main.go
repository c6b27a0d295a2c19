// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Localcluster is a Kubernetes control plane in one binary, for tests, demos and benchmarks on a
// machine without a container engine. It is etcd, kube-apiserver, kube-controller-manager and
// kubectl, and the supervisor that runs the first three as children of itself. For tests of aggregated
// APIs it is an extension API server as well.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const usage = `A Kubernetes control plane in one binary.

Usage:
  localcluster run --dir DIR [flags]     run a cluster in the foreground (run --help lists the flags)
  localcluster extension ...             an API server for an aggregated API of such a cluster (--help)
  localcluster kubectl ...               the real kubectl; so is a link named kubectl to this binary
  localcluster etcd ...                  one component by itself
  localcluster kube-apiserver ...
  localcluster kube-controller-manager ...
`

func main() {
	name, args := dispatch(os.Args)
	if component, ok := components[name]; ok {
		// Every component reads its arguments from os.Args: with a leading subcommand left in, etcd
		// and the cobra commands would take it for an argument of their own.
		os.Args = args
		followLifeline()
		os.Exit(component())
	}
	switch name {
	case "run":
		os.Exit(runCommand(args[1:]))
	case "extension":
		os.Exit(extensionCommand(args[1:]))
	case "help", "-h", "--help":
		write(os.Stdout, usage)
	default:
		write(os.Stderr, usage)
		os.Exit(2)
	}
}

// dispatch returns what the binary is asked to be and the arguments for that role, the role's own
// name first. The name of the executable decides if it is a component's, else the first argument.
func dispatch(args []string) (string, []string) {
	if name := filepath.Base(args[0]); components[name] != nil {
		return name, args
	}
	if len(args) < 2 {
		return "", nil
	}
	return args[1], args[1:]
}

// write prints text where nothing can be done about a failure to print.
func write(w io.Writer, text string) {
	_, _ = fmt.Fprint(w, text)
}
