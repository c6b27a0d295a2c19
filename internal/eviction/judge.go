// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/eviction/review"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/platform/uid"
)

// tries is how often an eviction is judged when the pod is replaced meanwhile.
const tries = 3

// settings are what the configuration and the policies say.
type settings struct {
	config configv1alpha1.EvictionConfiguration
	scope  scope.Scope
	policy policy.Settings
}

// judge finds out what a decision needs, and does what it asks for.
type judge struct {
	pods     *pods
	facts    *lookup
	settings func() settings
	// ready says what is lacking to judge anything.
	ready func() error
	// counted is told of each decision of a policy that is no dry run.
	counted func(policy.Verdict)
	events  recorder
	// observer tells what mode Enforce would refuse; nil for nobody.
	observer *admission.Observer
	filter   *filter
	stuck    stuck
	clock    clock.PassiveClock
}

var (
	errGone    = errors.New("the pod is gone")
	errUnnamed = errors.New("the Eviction has no name or no namespace")
	// errNotReady is that this replica has just started.
	errNotReady = errors.New("this replica of Holdfast is starting")
)

// answer judges a review. An error is for the API server to act on as the webhook
// configuration says.
func (j *judge) answer(ctx context.Context, r review.Review) (review.Answer, error) {
	log := ctrl.Log.WithName("eviction").WithValues("uid", r.UID, "namespace", r.Request.Namespace, "pod", r.Request.Name,
		"user", r.Request.User, "dryRun", r.Request.DryRun)
	if !r.Eviction {
		log.Info("Not an Eviction; the request passes")
		count("none", "not-an-eviction", true, false)
		return review.Answer{Allowed: true}, nil
	}
	if r.Borrowed {
		log.V(1).Info("The Eviction has no namespace; that of the request counts")
	}
	if r.Request.Namespace == "" || r.Request.Name == "" {
		log.Info("The eviction passes", "reason", errUnnamed.Error())
		count("none", "unnamed", true, r.Request.DryRun)
		return review.Answer{Allowed: true}, nil
	}
	s := j.settings()
	if !s.scope.MatchesName(r.Request.Namespace) {
		// The words are those of seed 000.
		log.V(1).Info(fmt.Sprintf("Ignoring eviction request for Pod %s in namespace %s - namespace not in watch list", r.Request.Name, r.Request.Namespace))
		j.filter.count(r.Request.Namespace)
		return review.Answer{Allowed: true}, nil
	}
	if err := j.ready(); err != nil {
		return j.outage(log, s, r, fmt.Errorf("%w: %w", errNotReady, err))
	}
	start := j.clock.Now()
	v, err := j.judge(ctx, s, r.Request)
	if errors.Is(err, errGone) {
		log.Info("The eviction passes", "reason", errGone.Error())
		count("none", "gone", true, r.Request.DryRun)
		return review.Answer{Allowed: true}, nil
	}
	if err != nil {
		return j.outage(log, s, r, err)
	}
	j.told(log, v, r, j.clock.Since(start))
	for _, one := range refusing(v) {
		admission.CountRefusal(webhookName(s.config), one.Mode)
	}
	return answerTo(v), nil
}

// outage is the answer to what cannot be judged.
func (j *judge) outage(log logr.Logger, s settings, r review.Review, err error) (review.Answer, error) {
	refused := s.config.OnOutage == configv1alpha1.OutageRefuses && s.config.Mode == configv1alpha1.ModeEnforce
	log.Error(err, "An eviction could not be judged", "refused", refused)
	count("none", "unjudged", !refused, r.Request.DryRun)
	if refused {
		admission.CountRefusal(webhookName(s.config), s.config.Mode)
		return unjudged(err), nil
	}
	return review.Answer{}, err
}

func (j *judge) judge(ctx context.Context, s settings, req policy.Request) (policy.Verdict, error) {
	for try := 1; ; try++ {
		pod, err := j.pods.get(ctx, s, req, try > 1)
		if err != nil {
			return policy.Verdict{}, err
		}
		facts := policy.Facts{Request: req, Meta: &pod.meta, Pod: pod.whole, Now: j.clock.Now()}
		v, err := j.decide(ctx, s, &facts)
		if err != nil {
			return v, err
		}
		if v.Patch != nil {
			err = j.pods.patch(ctx, s, facts.Meta, v.Patch)
		}
		switch {
		case err == nil:
			for _, e := range v.Events {
				j.events.send(facts.Meta, e)
			}
			j.observe(facts.Meta, v, req)
			return v, nil
		case (apierrors.IsNotFound(err) || uid.Changed(err)) && try < tries:
			continue // another pod may have its name now; that is judged by what it is itself
		case apierrors.IsNotFound(err):
			return policy.Verdict{}, errGone
		case v.OnError == policy.ByConfiguration:
			return policy.Verdict{}, err
		}
		return j.unwritten(s, &facts, v, err), nil
	}
}

// unwritten is the verdict where a pod cannot be written to. A deadline ends that
// too.
func (j *judge) unwritten(s settings, f *policy.Facts, v policy.Verdict, err error) policy.Verdict {
	if v.Outcome == policy.OutcomeOverdue && v.Allowed {
		return v // the write was about the time alone
	}
	failed := v.Failed(err)
	p := s.policy.Policy(v.Policy)
	if failed.Allowed || p == nil {
		return failed
	}
	b := p.Bound()
	if b.Deadline == 0 || b.Then != v1alpha1.OverdueAllow || j.stuck.lasts(f.Meta.UID, f.Now) < b.Deadline {
		return failed
	}
	failed.Outcome, failed.Allowed, failed.Code, failed.Reason, failed.Message = policy.OutcomeOverdue, true, 0, "", ""
	failed.Warning = fmt.Sprintf("EvictionPolicy %s cannot be applied, and its deadline of %s has passed: %s", p.Name, b.Deadline, err)
	return failed
}

// decide asks the policies, and finds out what they need to know until they know.
func (j *judge) decide(ctx context.Context, s settings, f *policy.Facts) (policy.Verdict, error) {
	for {
		v := policy.Decide(s.policy, *f)
		if v.Need == policy.NeedNothing {
			return v, nil
		}
		err := j.find(ctx, s, f, v.Need)
		switch {
		case err == nil:
		case v.Policy != "" && v.Mode != s.policy.Mode: // it only tells, and cannot
			ctrl.Log.WithName("eviction").Error(err, "An EvictionPolicy on trial cannot be applied", "policy", v.Policy)
			f.Skip = f.Skip.Clone().Insert(v.Policy)
		case errors.Is(err, errGone), v.OnError == policy.ByConfiguration:
			return policy.Verdict{}, err
		default:
			return v.Failed(err), nil
		}
	}
}

func (j *judge) find(ctx context.Context, s settings, f *policy.Facts, need policy.Need) (err error) {
	switch need {
	case policy.NeedPod:
		pod, err := j.pods.read(ctx, s, f.Request)
		if err != nil {
			return err
		}
		f.Pod, f.Meta = pod.whole, &pod.meta
	case policy.NeedNode:
		f.Node, err = j.facts.node(ctx, s, f.Pod.Spec.NodeName)
	case policy.NeedNamespace:
		f.Namespace, err = j.facts.namespace(ctx, s, f.Request.Namespace)
	case policy.NeedProtection:
		f.Protection, err = j.facts.protection(ctx, f.Request.Namespace, f.Meta)
	}
	return err
}

// told logs and counts what was decided.
func (j *judge) told(log logr.Logger, v policy.Verdict, r review.Review, took time.Duration) {
	by := "none"
	switch {
	case v.Policy != "":
		by = "policy"
	case v.DrainCleaner:
		by = "drain-cleaner"
	case v.Outcome == policy.OutcomeProtected:
		by = "protection"
	}
	allowed := v.Allowed || !v.Enforced()
	count(by, string(v.Outcome), allowed, r.Request.DryRun)
	duration.WithLabelValues(by, string(v.Outcome)).Observe(took.Seconds())
	for _, one := range append([]policy.Verdict{v}, v.Trials...) {
		if one.Policy != "" && !r.Request.DryRun {
			j.counted(one)
		}
	}
	log = log.WithValues("by", by, "policy", v.Policy, "outcome", v.Outcome, "mode", v.Mode, "allowed", allowed,
		"written", v.Patch != nil, "took", took.String())
	switch {
	case v.Err != nil:
		log.Error(v.Err, "An EvictionPolicy could not be applied")
	case by == "none":
		log.V(1).Info("No rule matches the pod of an eviction")
	default:
		log.Info("Decided on an eviction", "code", v.Code)
	}
}

// refusing are the verdict, and those of policies on trial, that refuse or would.
func refusing(v policy.Verdict) []policy.Verdict {
	return slices.DeleteFunc(append([]policy.Verdict{v}, v.Trials...), func(one policy.Verdict) bool { return one.Allowed })
}

// observe tells of evictions that pass by mode Audit.
func (j *judge) observe(pod *metav1.ObjectMeta, v policy.Verdict, req policy.Request) {
	if req.DryRun {
		return
	}
	about := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID}}
	for _, one := range refusing(v) {
		j.observer.TellAbout(one.Mode, about, req.User, one.Message)
	}
}

// recorder sends events about pods.
type recorder interface {
	send(pod *metav1.ObjectMeta, e policy.Event)
}
