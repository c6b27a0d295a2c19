// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	_ "time/tzdata" // cron jobs name time zones, and the host may have no database of them

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the authentication plugins a kubeconfig may name
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics on /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // version metric on /metrics
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

const (
	etcd              = "etcd"
	kubeAPIServer     = "kube-apiserver"
	controllerManager = "kube-controller-manager"
)

// components are the programs inside this binary. Each reads os.Args and returns an exit code, or
// ends the process itself.
var components = map[string]func() int{
	etcd: func() int {
		etcdmain.Main(os.Args)
		return 0
	},
	kubeAPIServer: func() int {
		return cli.Run(apiserver.NewAPIServerCommand())
	},
	controllerManager: func() int {
		return cli.Run(controllermanager.NewControllerManagerCommand())
	},
	"kubectl": runKubectl,
}

func runKubectl() int {
	// Finding a plugin and reading the user's preferences both happen while the command is built,
	// before its flags are parsed, and both log. Without this they would ignore -v.
	if _, err := logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)); err != nil {
		write(os.Stderr, "error: "+err.Error()+"\n")
	}
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err) // prints as kubectl does and ends the process with its exit code
	}
	return 0
}
