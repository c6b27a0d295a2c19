// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package timing

import (
	"reflect"
	"testing"
	"time"
)

func TestPauses_areAllThereAndDivided(t *testing.T) {
	t.Parallel()
	production := Production()
	divided := production.DividedBy(4)
	for field, value := range reflect.ValueOf(production).Fields() {
		p, d := time.Duration(value.Int()), time.Duration(reflect.ValueOf(divided).FieldByIndex(field.Index).Int())
		if p < 2*time.Second || d != p/4 {
			t.Errorf("%s is %s, and %s divided by 4", field.Name, p, d)
		}
	}
	if production != Production() || production.DividedBy(1) != production {
		t.Error("production's are changed")
	}
}
