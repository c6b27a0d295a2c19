// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
)

// configurationName is the ConfigMap that Holdfast is told what to do by.
const configurationName = "holdfast"

// grace is how long a configuration may take to show as it was written. Then what is
// different is so because flags of the manager go before it.
const grace = 20 * time.Second

func (h *handover) configuration(ctx context.Context) (*corev1.ConfigMap, error) {
	return h.kube.CoreV1().ConfigMaps(h.Namespace).Get(ctx, configurationName, metav1.GetOptions{})
}

// told is what Holdfast is told now, read.
func (h *handover) told(ctx context.Context) (string, *configv1alpha1.HoldfastConfiguration, error) {
	o, err := h.configuration(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("read the configuration of Holdfast: %w", err)
	}
	text := o.Data[config.DataKey]
	if strings.TrimSpace(text) == "" {
		text = config.Empty
	}
	c, err := loader.Load([]byte(text))
	if err != nil {
		return "", nil, fmt.Errorf("the configuration in ConfigMap %s/%s is not valid; mend it first: %w", h.Namespace, configurationName, err)
	}
	return text, c, nil
}

// wanted is the configuration with which Holdfast stands by.
func (h *handover) wanted(ctx context.Context, text string) (string, error) {
	if h.Back {
		c, err := loader.Load([]byte(text))
		if err != nil || off(c.Hierarchy.Mode) {
			return text, err // it has no trees to give back
		}
	}
	f, err := find(ctx, h.kube)
	if err != nil {
		return "", err
	}
	a, err := f.arguments()
	if err != nil {
		return "", err
	}
	var from *configv1alpha1.HierarchyConfiguration
	if a != nil && !h.Back {
		from = &a.Hierarchy
	}
	out, differs, err := standingBy(text, from)
	if err != nil {
		return "", fmt.Errorf("ConfigMap %s/%s: %w", h.Namespace, configurationName, err)
	}
	for _, d := range differs {
		h.note(d + " in Holdfast's configuration says something else than HNC's arguments, and stays as it is")
	}
	return out, nil
}

// lookStandBy: once HNC is gone and Holdfast has the trees there is nothing to go
// back to.
func (h *handover) lookStandBy(ctx context.Context) (bool, string, error) {
	text, c, err := h.told(ctx)
	if err != nil {
		return false, "", err
	}
	f, err := find(ctx, h.kube)
	if err != nil {
		return false, "", err
	}
	if f.gone() && !off(c.Hierarchy.Mode) && !c.Hierarchy.StandBy && !h.Back {
		return true, "Holdfast has the trees", nil
	}
	want, err := h.wanted(ctx, text)
	if err != nil {
		return false, "", err
	}
	h.said.Configuration = want
	s, err := h.status(ctx)
	if err != nil {
		return false, "", err
	}
	missing, err := h.standsBy(ctx, s, want)
	if err != nil {
		return false, "", err
	}
	if want == text && missing == "" {
		return true, "Holdfast follows the trees and stands by", nil
	}
	return false, fmt.Sprintf("tell Holdfast, in ConfigMap %s/%s, to follow the trees and stand by:\n%s", h.Namespace, configurationName, partText(want)), nil
}

// partText is the part about trees.
func partText(text string) string {
	_, part, _, err := cut(text)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(part)
}

// standsBy says what is missing until Holdfast stands by and knows the trees. On the
// way back its rules have to be gone too: they would refuse what HNC writes.
func (h *handover) standsBy(ctx context.Context, s *v1alpha1.HoldfastStatus, want string) (string, error) {
	missing, _, err := taken(s, want)
	if err != nil || missing != "" {
		return missing, err
	}
	if c, err := loader.Load([]byte(want)); err == nil && !off(c.Hierarchy.Mode) {
		if missing := lacks(s, v1alpha1.ConditionHierarchyKnown, v1alpha1.ReasonStandsBy); missing != "" {
			return missing, nil
		}
	}
	r, err := h.rules(ctx)
	if err != nil || len(r.policies)+len(r.webhooks) == 0 {
		return "", err
	}
	return fmt.Sprintf("Holdfast still has %s for trees in the API server", r), nil
}

// standBy tells Holdfast to follow the trees without writing or refusing anything.
func (h *handover) standBy(ctx context.Context) (string, error) {
	want, err := h.tell(ctx, h.wanted)
	if err != nil {
		return "", err
	}
	h.said.Configuration = want
	if err := h.awaitTaken(ctx, want); err != nil {
		return "", err
	}
	err = h.until(ctx, func(ctx context.Context) (string, error) {
		s, err := h.status(ctx)
		if err != nil {
			return "", err
		}
		return h.standsBy(ctx, s, want)
	})
	if err != nil {
		return "", err
	}
	return "Holdfast follows the trees and stands by: it writes nothing in them and refuses nothing", nil
}

// tell changes the configuration of Holdfast.
func (h *handover) tell(ctx context.Context, edit func(context.Context, string) (string, error)) (want string, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		o, err := h.configuration(ctx)
		if err != nil {
			return err
		}
		have := o.Data[config.DataKey]
		if strings.TrimSpace(have) == "" {
			have = config.Empty
		}
		if want, err = edit(ctx, have); err != nil || want == have {
			return err
		}
		if o.Data == nil {
			o.Data = map[string]string{}
		}
		o.Data[config.DataKey] = want
		_, err = h.kube.CoreV1().ConfigMaps(h.Namespace).Update(ctx, o, metav1.UpdateOptions{FieldManager: fieldManager})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("write the configuration of Holdfast: %w", err)
	}
	return want, nil
}

// awaitTaken waits until Holdfast has taken a configuration.
func (h *handover) awaitTaken(ctx context.Context, want string) error {
	began := time.Now()
	exactly := false
	err := h.until(ctx, func(ctx context.Context) (string, error) {
		s, err := h.status(ctx)
		if err != nil {
			return "", err
		}
		var missing string
		if missing, exactly, err = taken(s, want); err != nil {
			return "", err
		}
		if missing == "" && !exactly && time.Since(began) < grace {
			return "Holdfast has not taken all of the configuration yet", nil
		}
		return missing, nil
	})
	if err != nil {
		return fmt.Errorf("%w. Does the manager run, with --config-map %s, in the namespace %s?", err, configurationName, h.Namespace)
	}
	if !exactly {
		h.note("Holdfast's manager has flags that go before the configuration: kubectl get holdfast holdfast -o jsonpath='{.status.configuration}' shows what is in force")
	}
	return nil
}
