// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit/kwok"
	"github.com/holdfast-dev/holdfast/internal/testkit/roller"
)

const (
	// brokerEnds is how long a broker takes to end.
	brokerEnds = 500 * time.Millisecond
	// operatorWaits is how long the operator takes until it moves a pod.
	operatorWaits = 300 * time.Millisecond
)

// playedNodes are nodes without machines, and an operator for the pods on them.
type playedNodes struct {
	kwok     *kwok.Process
	config   *rest.Config
	client   client.Client
	operator *roller.Roller
	// dismiss ends the operator.
	dismiss context.CancelFunc
}

// playBrokers makes the nodes of the chapter and the pods on them.
func playBrokers(ctx context.Context, s *stage) error {
	n, err := s.playNodes(ctx)
	if err != nil {
		return err
	}
	if err := n.kwok.AddNodes(ctx, n.client, firstNode, secondNode, testNode); err != nil {
		return err
	}
	for namespace, node := range map[string]string{kafka: firstNode, kafkaTest: testNode} {
		if err := n.runBrokers(ctx, namespace, node); err != nil {
			return err
		}
	}
	return nil
}

// playNodes starts kwok, which ends with the stage.
func (s *stage) playNodes(ctx context.Context) (*playedNodes, error) {
	n := &playedNodes{}
	var err error
	if n.config, err = s.cluster.RestConfig(); err != nil {
		return nil, err
	}
	if n.client, err = client.New(n.config, client.Options{}); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	dir := filepath.Join(s.dir, "kwok")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if n.kwok, err = kwok.Start(ctx, kwok.Options{Kubeconfig: s.cluster.Kubeconfig, Dir: dir}); err != nil {
		return nil, err
	}
	s.nodes = n
	return n, nil
}

// runBrokers runs three pods that look like Strimzi's. They belong to an object,
// as drains leave pods alone that nobody would make again.
func (n *playedNodes) runBrokers(ctx context.Context, namespace, node string) error {
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "my-cluster"}}
	if err := n.client.Create(ctx, owner); err != nil {
		return fmt.Errorf("make an owner of pods: %w", err)
	}
	reference, err := kwok.OwnedBy(n.client, owner)
	if err != nil {
		return err
	}
	pods := make([]kwok.Pod, 0, 3)
	for i := range 3 {
		pods = append(pods, kwok.Pod{
			Namespace: namespace, Name: fmt.Sprintf("my-cluster-kafka-%d", i), Node: node, Owner: reference, EndsAfter: brokerEnds,
			Labels: map[string]string{"strimzi.io/kind": "Kafka", "strimzi.io/name": "my-cluster-kafka"},
		})
	}
	_, err = n.kwok.RunPods(ctx, n.client, pods...)
	return err
}

// startOperator starts what rolls the pods; it ends with the stage.
func (n *playedNodes) startOperator(ctx context.Context, namespaces ...string) (err error) {
	ctx, n.dismiss = context.WithCancel(context.WithoutCancel(ctx))
	n.operator, err = roller.Start(ctx, n.config, n.client, roller.Options{
		Namespaces: namespaces, Delay: operatorWaits, NodeLabels: n.kwok.NodeLabels(),
	})
	return err
}

// stop ends the operator and whoever plays the nodes.
func (n *playedNodes) stop() error {
	if n.dismiss != nil {
		n.dismiss()
	}
	if n.operator != nil {
		<-n.operator.Done()
	}
	return n.kwok.Stop()
}
