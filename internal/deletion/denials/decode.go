// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package denials

import (
	"encoding/json"
	"fmt"
	"io"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// decode reads what an API server posts.
func decode(r io.Reader) (*auditv1.EventList, error) {
	body, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	list := &auditv1.EventList{}
	if err := json.Unmarshal(body, list); err != nil {
		return nil, fmt.Errorf("decode events: %w", err)
	}
	if want := auditv1.SchemeGroupVersion.WithKind("EventList"); list.GroupVersionKind() != want {
		return nil, fmt.Errorf("decode events: got %s, want %s", list.GroupVersionKind(), want)
	}
	return list, nil
}
