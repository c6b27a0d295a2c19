// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package denials

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
)

const (
	// trusted is how long a token that may post is not asked about again.
	trusted = time.Minute
	// atOnce is how many tokens the API server is asked about at once: whoever reaches the port can send any.
	atOnce = 8
)

// gate lets those post who have a token of the guarded API server, and the right to
// post to Path. It is written out here because the library's gate brings gRPC, a
// tracer and a proxy into the binary.
type gate struct {
	client kubernetes.Interface
	open   *cache.Expiring
	asking *semaphore.Weighted
}

func newGate(c kubernetes.Interface) *gate {
	return &gate{client: c, open: cache.NewExpiring(), asking: semaphore.NewWeighted(atOnce)}
}

// check returns 200 for whoever may post, or the status to answer with. The error
// is for the log, where nobody is to blame but the API server.
func (g *gate) check(ctx context.Context, r *http.Request) (code int, err error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return http.StatusUnauthorized, nil
	}
	key := sha256.Sum256([]byte(token))
	if _, ok := g.open.Get(key); ok {
		return http.StatusOK, nil
	}
	if err := g.asking.Acquire(ctx, 1); err != nil {
		return http.StatusServiceUnavailable, fmt.Errorf("wait for other reviews of tokens: %w", err)
	}
	defer g.asking.Release(1)
	who, err := g.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return http.StatusServiceUnavailable, fmt.Errorf("review token: %w", err)
	case !who.Status.Authenticated:
		return http.StatusUnauthorized, nil
	}
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range who.Status.User.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	may, err := g.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: who.Status.User.Username, UID: who.Status.User.UID, Groups: who.Status.User.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: Path, Verb: "post"},
		},
	}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return http.StatusServiceUnavailable, fmt.Errorf("review access: %w", err)
	case !may.Status.Allowed:
		return http.StatusForbidden, nil
	}
	g.open.Set(key, true, trusted)
	return http.StatusOK, nil
}
