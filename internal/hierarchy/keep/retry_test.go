// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	secrets := corev1.Resource("secrets")
	for _, tt := range []struct {
		name  string
		err   error
		grows bool
	}{
		{"a right is missing", apierrors.NewForbidden(secrets, "x", nil), true},
		{"the object is not valid", apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "x", nil), true},
		{"a webhook denies it", apierrors.NewBadRequest("no"), true},
		{"somebody was faster", apierrors.NewConflict(secrets, "x", nil), false},
		{"nobody answers", errors.New("connection refused"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			i := item{what: aCopy, namespace: "ns", name: "x"}
			for n, want := range []time.Duration{1, 2, 4, 8, 15, 15} {
				r.retry(i, tt.err)
				o := r.added[i]
				if !tt.grows {
					if !o.RateLimited {
						t.Fatalf("it is not tried soon: %+v", o)
					}
					continue
				}
				least := want * time.Minute
				if most := least + time.Duration(float64(least)*refusedSpread); o.RateLimited || o.After < least || o.After > most {
					t.Errorf("after %d times the pause is %v, want %v to %v", n+1, o.After, least, most)
				}
			}
			r.forget(i)
			r.retry(i, tt.err)
			if o := r.added[i]; tt.grows && o.After > 2*time.Minute {
				t.Errorf("after it went well the pause is %v", o.After)
			}
		})
	}
}

func TestNews(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	i := item{what: aCopy, namespace: "ns", name: "x"}
	said := ""
	for _, why := range []string{"a", "a", "b", "b", "a"} {
		if r.news(i, errors.New(why)) {
			said += why
		}
	}
	r.forget(i)
	if r.news(i, errors.New("a")) {
		said += " a"
	}
	if said != "aba a" {
		t.Errorf("said: %s", said)
	}
}
