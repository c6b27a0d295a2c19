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
	each := func(of any, see func(name string, d time.Duration)) {
		for field, value := range reflect.ValueOf(of).Fields() {
			if !field.Anonymous {
				see(field.Name, time.Duration(value.Int()))
			}
		}
	}
	left := map[string]time.Duration{}
	each(divided, func(name string, d time.Duration) { left[name] = d })
	each(production, func(name string, d time.Duration) {
		if d < 2*time.Second || left[name] != d/4 {
			t.Errorf("%s is %s, and %s divided by 4", name, d, left[name])
		}
	})
	each(production.Patience, func(name string, d time.Duration) {
		if d < 2*time.Second {
			t.Errorf("%s is %s", name, d)
		}
	})
	if divided.Patience != production.Patience {
		t.Errorf("patience is %+v, divided", divided.Patience)
	}
	if production != Production() || production.DividedBy(1) != production {
		t.Error("production's are changed")
	}
}
