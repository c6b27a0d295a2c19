// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"testing"
)

func TestConfigurationCondition(t *testing.T) {
	t.Parallel()
	refused, mistakes := errors.New("deletion.mode: no"), []string{"A is not valid", "B neither"}
	for _, tt := range []struct {
		name     string
		err      error
		mistakes []string
		want     string
	}{
		{name: "nothing is wrong", want: "True Accepted: the newest configuration is in force"},
		{name: "the file is refused", err: refused, want: "False Refused: deletion.mode: no; the last good configuration stays in force"},
		{name: "variables are not valid", mistakes: mistakes, want: "False InvalidVariable: in the environment of the manager: A is not valid; B neither"},
		{name: "the file goes before the variables", err: refused, mistakes: mistakes, want: "False Refused: deletion.mode: no; the last good configuration stays in force"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := configurationCondition(tt.err, tt.mistakes)
			if got := string(c.Status) + " " + c.Reason + ": " + c.Message; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
