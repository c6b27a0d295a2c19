// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/platform/metaclient"
)

const (
	// fieldManager is that of all commands.
	fieldManager = "kubectl-holdfast"
	// interval is how often is looked at what is waited for.
	interval = 500 * time.Millisecond
	// patience is how long nothing is said of what is waited for.
	patience = 3 * time.Second
)

// Options are what the command line says.
type Options struct {
	// Namespace that Holdfast is installed in.
	Namespace string
	// Back hands the trees back to HNC.
	Back bool
	// DryRun shows what would be done.
	DryRun bool
	// Yes does not ask.
	Yes bool
	// Record is a file for what HNC was where there is no place in the cluster.
	Record string
	// Timeout bounds each wait.
	Timeout time.Duration
	// Output is empty for people.
	Output string
}

// handover is one call of the command.
type handover struct {
	*ui.Streams
	Options
	kube     kubernetes.Interface
	dynamic  dynamic.Interface
	metadata metadata.Interface
	mapper   meta.RESTMapper
	said     Report
	// shown is how many steps there are.
	shown int
	// changed says that something may have been changed by this call, and pending, in
	// a dry run, that something would be.
	changed, pending bool
}

// step is one part of a hand-over. Both functions say in a sentence what they found
// or did.
type step struct {
	name string
	// look says whether it is so already; if not, what is to be done.
	look func(context.Context) (so bool, what string, err error)
	// do does what is missing, and returns when the cluster shows it.
	do func(context.Context) (what string, err error)
	// reads says that nothing is changed by it.
	reads bool
}

// Run hands the trees over, or back.
func Run(ctx context.Context, s *ui.Streams, flags *genericclioptions.ConfigFlags, o Options) error {
	h := &handover{Streams: s, Options: o, said: newReport(o)}
	if err := h.connect(flags); err != nil {
		return err
	}
	err := h.run(ctx)
	if o.Output != "" {
		if encodeErr := s.Encode(o.Output, h.said); encodeErr != nil {
			return errors.Join(err, encodeErr)
		}
	}
	return err
}

func (h *handover) connect(flags *genericclioptions.ConfigFlags) error {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return err
	}
	if h.kube, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if h.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	if h.metadata, err = metaclient.NewForConfig(config); err != nil {
		return err
	}
	h.mapper, err = flags.ToRESTMapper()
	return err
}

func (h *handover) run(ctx context.Context) error {
	f, err := find(ctx, h.kube)
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w: let a cluster administrator run this", err)
	}
	if err != nil {
		return h.resumable(err)
	}
	h.show(f)
	steps := h.forth(f)
	if h.Back {
		steps = h.back()
	}
	h.shown = len(steps)
	for i := range steps {
		if err := h.take(ctx, steps[i:]); err != nil {
			h.say(steps[i].name, StateFailed, err.Error())
			return fmt.Errorf("%s: %w", steps[i].name, h.resumable(err))
		}
	}
	return nil
}

// forth are the steps to Holdfast. HNC's webhooks go before its pods: left alone
// they would refuse every write of a namespace. Where they do that already, they go
// first.
func (h *handover) forth(f found) []step {
	steps := []step{
		{"check", h.lookCheck, h.check, true},
		{"stand-by", h.lookStandBy, h.standBy, false},
		{"webhooks", h.lookWebhooks, h.removeWebhooks, false},
		{"scale", h.lookScale, h.scaleDown, false},
		{"activate", h.lookActive, h.activate, false},
		{"compare", h.lookCompare, h.compare, true},
	}
	if f.locks() {
		return append([]step{{"unlock", h.lookLocked, h.unlock, false}}, steps...)
	}
	return steps
}

// take takes the first of some steps; in a dry run it shows it, as it would look
// now.
func (h *handover) take(ctx context.Context, steps []step) error {
	s := steps[0]
	so, what, err := s.look(ctx)
	if err != nil {
		return err
	}
	switch {
	case so:
		h.say(s.name, StateAlready, what)
		return nil
	case h.DryRun && (!s.reads || h.pending):
		h.pending = true
		h.say(s.name, StateWould, what)
		return nil
	case !s.reads:
		if err := h.ask(ctx, steps); err != nil {
			return err
		}
		h.changed = true
	}
	if what, err = s.do(ctx); err != nil {
		return err
	}
	h.say(s.name, StateDone, what)
	return nil
}

// resumable says what to do about what went wrong.
func (h *handover) resumable(err error) error {
	if !h.changed {
		return fmt.Errorf("%w\nNothing was changed", err)
	}
	return fmt.Errorf("%w\nWhat was done until here stays; run the command again to go on", err)
}

// until waits until nothing is missing any more.
func (h *handover) until(ctx context.Context, what func(context.Context) (missing string, err error)) error {
	var last, told string
	began := time.Now()
	err := wait.PollUntilContextTimeout(ctx, interval, h.Timeout, true, func(ctx context.Context) (bool, error) {
		missing, err := what(ctx)
		if err != nil {
			missing = err.Error() // the API server may be busy, and answer next time
		}
		if missing != "" && (last == "" || ctx.Err() == nil) {
			last = missing
		}
		if missing != "" && missing != told && time.Since(began) > patience {
			h.Notef("waiting: %s", missing)
			told = missing
		}
		return missing == "", nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("waited %s: %s", h.Timeout, last)
	}
	return err
}

// ask asks, before the first change, whether to go on, unless that is said already.
func (h *handover) ask(ctx context.Context, steps []step) error {
	if h.Yes {
		return nil
	}
	h.Yes = true // for the steps after this
	h.Notef("\nWhat is to be done:")
	for _, s := range steps {
		so, what, err := s.look(ctx)
		if err != nil {
			what = "not known before the steps above: " + err.Error()
		}
		if !so && !s.reads && !(s.name == "webhooks" && steps[0].name == "unlock") {
			h.Notef("  %s %s", pad(s.name, nameWidth), what)
		}
	}
	question := "Hand the trees of namespaces over to Holdfast?"
	if h.Back {
		question = "Hand the trees of namespaces back to HNC?"
	}
	_, _ = fmt.Fprintf(h.ErrOut, "\n%s [y/N] ", question)
	var answer string
	if _, err := fmt.Fscanln(h.In, &answer); err != nil || !slices.Contains([]string{"y", "yes"}, strings.ToLower(answer)) {
		return errors.New("it takes a yes, or --yes where nobody is there to say it")
	}
	return nil
}
