// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"net/http"
	"time"
)

// longestCall is the longest that the API server waits for a webhook.
const longestCall = 30 * time.Second

// toTheEnd answers a call that is being answered when the process is told to stop. The server
// waits for it and cancels it all the same, and its answer would be that of a failure.
func toTheEnd(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), longestCall)
		defer cancel()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}
