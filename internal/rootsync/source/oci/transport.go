// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"net/http"
	"sync"
)

// encrypted does without encryption where a registry has none, which the library tries
// for registries of the own network; but not where there is a certificate that is not
// trusted: the credentials would go to whoever has it.
type encrypted struct {
	http.RoundTripper

	mu      sync.Mutex
	refused error
}

// again forgets what was refused: the certificate may be another one by now.
func (e *encrypted) again() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused = nil
}

// RoundTrip sends a request.
func (e *encrypted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "http" {
		e.mu.Lock()
		refused := e.refused
		e.mu.Unlock()
		if refused != nil {
			return nil, refused
		}
	}
	answer, err := e.RoundTripper.RoundTrip(r)
	if err != nil && isCertificate(err) {
		e.mu.Lock()
		e.refused = err
		e.mu.Unlock()
	}
	return answer, err
}
