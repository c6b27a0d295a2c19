// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// auditPods returns the options of a cluster whose API server logs what the manager
// asks it about pods.
func auditPods(dir string) (*auditlog.Log, cluster.Options, error) {
	return auditlog.New(dir, auditv1.PolicyRule{
		Level:     auditv1.LevelMetadata,
		Users:     []string{"system:serviceaccount:" + manager.Namespace + ":" + manager.ServiceAccount},
		Resources: []auditv1.GroupResources{{Resources: []string{"pods"}}},
	}, auditv1.PolicyRule{Level: auditv1.LevelNone})
}

// calls are requests of the manager about pods.
type calls struct{ gets, patches float64 }

// callsIn are those that the API server has answered so far. What its priority and
// fairness turned away, and the client asked again, is no call more.
func callsIn(log *auditlog.Log) (out calls, err error) {
	events, err := log.Events()
	for i := range events {
		if s := events[i].ResponseStatus; s != nil && s.Code == http.StatusTooManyRequests {
			continue
		}
		switch events[i].Verb {
		case "get":
			out.gets++
		case "patch":
			out.patches++
		}
	}
	return out, err
}
