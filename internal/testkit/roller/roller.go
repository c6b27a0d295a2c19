// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package roller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// retry is how long the roller waits before it does again what failed, and how often it looks at a pod.
const retry = 50 * time.Millisecond

// answer is how long the roller waits for an answer of the API server.
const answer = 20 * time.Second

// Roll is a pod that was replaced.
type Roll struct {
	Pod      types.NamespacedName
	Old, New types.UID
	At       time.Time // when the new pod was Ready
}

// Options of a Roller.
type Options struct {
	// Namespaces that it looks at.
	Namespaces []string
	// Delay between the moment that a pod's turn has come and its deletion.
	Delay time.Duration
	// NodeLabels are labels of the nodes that it may put pods onto; none means all nodes.
	NodeLabels map[string]string
}

// Roller is an operator that rolls pods as Strimzi's does: those with the annotation
// strimzi.io/manual-rolling-update=true, one after the other. It deletes the pod, makes it again under the
// same name without the annotation, puts it onto another node that is Ready and not cordoned, and waits
// until it is Ready. While there is no such node the new pod is Pending. It makes nothing again that
// somebody else deleted.
type Roller struct {
	client  client.Client
	options Options
	woken   chan struct{} // a pod may have got the annotation
	done    chan struct{}

	mu    sync.Mutex
	rolls []Roll
	last  error
}

// Start starts a roller that ends with the context.
func Start(ctx context.Context, config *rest.Config, c client.Client, o Options) (*Roller, error) {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the roller's client: %w", err)
	}
	r := &Roller{client: c, options: o, woken: make(chan struct{}, 1), done: make(chan struct{})}
	var watches []informers.SharedInformerFactory
	for _, namespace := range o.Namespaces {
		factory := informers.NewSharedInformerFactoryWithOptions(typed, 0, informers.WithNamespace(namespace))
		_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { r.wake() },
			UpdateFunc: func(any, any) { r.wake() },
		})
		if err != nil {
			return nil, fmt.Errorf("watch the pods of %s: %w", namespace, err)
		}
		factory.StartWithContext(ctx)
		watches = append(watches, factory)
	}
	go func() {
		defer close(r.done)
		r.run(ctx)
		for _, factory := range watches {
			factory.Shutdown()
		}
	}()
	return r, nil
}

// Done is closed when the roller has ended.
func (r *Roller) Done() <-chan struct{} { return r.done }

// Rolls returns the rolls that have ended, in their order.
func (r *Roller) Rolls() []Roll {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rolls)
}

// LastError is the last thing that the roller failed to do, and will have tried again.
func (r *Roller) LastError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

func (r *Roller) wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

func (r *Roller) run(ctx context.Context) {
	for ctx.Err() == nil {
		pods, err := r.annotated(ctx)
		for i := range pods {
			if failed := r.roll(ctx, &pods[i]); failed != nil {
				err = fmt.Errorf("roll pod %s: %w", pods[i].Name, failed)
			}
		}
		r.wait(ctx, err)
	}
}

// wait returns when there may be something to do.
func (r *Roller) wait(ctx context.Context, err error) {
	var again <-chan time.Time
	if err != nil && ctx.Err() == nil {
		r.failed(err)
		again = time.After(retry)
	}
	select {
	case <-ctx.Done():
	case <-r.woken:
	case <-again:
	}
}

func (r *Roller) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = err
}

// annotated returns the pods that are to be rolled, in the order of their names.
func (r *Roller) annotated(ctx context.Context) ([]corev1.Pod, error) {
	var found []corev1.Pod
	for _, namespace := range r.options.Namespaces {
		var pods corev1.PodList
		if err := r.client.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list the pods of %s: %w", namespace, err)
		}
		found = append(found, slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !toRoll(&pod) })...)
	}
	slices.SortFunc(found, func(a, b corev1.Pod) int {
		return strings.Compare(client.ObjectKeyFromObject(&a).String(), client.ObjectKeyFromObject(&b).String())
	})
	return found, nil
}

func toRoll(pod *corev1.Pod) bool {
	return pod.Annotations[v1alpha1.StrimziRollAnnotation] == "true" && pod.DeletionTimestamp == nil
}

// roll replaces a pod. It fails only before it has deleted the pod; from then on it tries until the new one
// is Ready or the context ends.
func (r *Roller) roll(ctx context.Context, pod *corev1.Pod) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(r.options.Delay):
	}
	uid := pod.UID
	err := r.client.Get(ctx, client.ObjectKeyFromObject(pod), pod)
	if err != nil || pod.UID != uid || !toRoll(pod) {
		return client.IgnoreNotFound(err)
	}
	if err := r.remove(ctx, pod); err != nil {
		return client.IgnoreNotFound(err)
	}
	next := again(pod)
	for _, step := range []wait.ConditionWithContextFunc{
		func(ctx context.Context) (bool, error) { return r.gone(ctx, pod) },
		func(ctx context.Context) (bool, error) { return r.place(ctx, pod, next) },
		func(ctx context.Context) (bool, error) { return r.runs(ctx, next) },
	} {
		if err := r.insist(ctx, step); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rolls = append(r.rolls, Roll{Pod: client.ObjectKeyFromObject(pod), Old: uid, New: next.UID, At: time.Now()})
	return nil
}

// place creates the successor of a pod, and puts it onto another node. It creates the successor again if that is gone before:
// a kubelet that is played deletes by name, and may be late.
func (r *Roller) place(ctx context.Context, pod, next *corev1.Pod) (bool, error) {
	if next.UID == "" {
		err := r.client.Create(ctx, next)
		if apierrors.IsAlreadyExists(err) { // the answer to an earlier try was lost
			err = r.client.Get(ctx, client.ObjectKeyFromObject(next), next)
		}
		if err != nil {
			return false, err
		}
	}
	done, err := r.bind(ctx, next, pod.Spec.NodeName)
	if apierrors.IsNotFound(err) {
		*next = *again(pod)
	}
	return done, err
}

// remove deletes a pod. If the answer is lost, it looks whether the API server has done so.
func (r *Roller) remove(ctx context.Context, pod *corev1.Pod) error {
	err := r.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
	if err == nil || apierrors.IsNotFound(err) {
		return err
	}
	var now corev1.Pod
	if looked := r.client.Get(ctx, client.ObjectKeyFromObject(pod), &now); apierrors.IsNotFound(looked) || looked == nil && (now.UID != pod.UID || now.DeletionTimestamp != nil) {
		return nil
	}
	return err
}

// insist takes a step until it is done, whatever fails; its error is that of the context.
func (r *Roller) insist(ctx context.Context, step wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextCancel(ctx, retry, true, func(ctx context.Context) (bool, error) {
		once, cancel := context.WithTimeout(ctx, answer)
		defer cancel()
		done, err := step(once)
		if err != nil && ctx.Err() == nil {
			r.failed(err)
		}
		return done, nil
	})
}

// again returns a pod like another, on no node yet.
func again(pod *corev1.Pod) *corev1.Pod {
	next := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels, Annotations: map[string]string{},
			OwnerReferences: pod.OwnerReferences, Finalizers: pod.Finalizers,
		},
		Spec: *pod.Spec.DeepCopy(),
	}
	for key, value := range pod.Annotations {
		if key != v1alpha1.StrimziRollAnnotation {
			next.Annotations[key] = value
		}
	}
	next.Spec.NodeName = ""
	return next
}
