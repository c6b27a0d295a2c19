// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads gates and their values in one of two forms, which do not mix;
// blank is none.
//
// "A=true,B=false" is Kubernetes' form. Empty items are passed over, and a gate
// may stand twice with the same value.
//
// "+A,-B" is Strimzi's form, as strict as there: every item has a sign and a
// name of letters and digits, blanks stand only around items, and no gate stands
// twice. A leading sign on any item chooses it.
//
// Whether the gates exist is not looked at.
func Parse(value string) (map[string]bool, error) {
	if strings.TrimSpace(value) == "" {
		return map[string]bool{}, nil
	}
	items := strings.Split(value, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	if slices.ContainsFunc(items, signed) {
		return parseSigned(items)
	}
	return parseAssigned(items)
}

func signed(item string) bool {
	return strings.HasPrefix(item, "+") || strings.HasPrefix(item, "-")
}

func parseSigned(items []string) (map[string]bool, error) {
	values := map[string]bool{}
	for _, item := range items {
		if !signed(item) || !isName(item[1:]) {
			return nil, fmt.Errorf("%q is no feature gate setting: write every item as +Name or -Name, with commas between them", item)
		}
		name := item[1:]
		if _, repeated := values[name]; repeated {
			return nil, fmt.Errorf("feature gate %s stands more than once: keep one", name)
		}
		values[name] = item[0] == '+'
	}
	return values, nil
}

func parseAssigned(items []string) (map[string]bool, error) {
	values := map[string]bool{}
	for _, item := range items {
		if item == "" {
			continue
		}
		name, text, _ := strings.Cut(item, "=")
		name = strings.TrimSpace(name)
		value, err := strconv.ParseBool(strings.TrimSpace(text))
		if err != nil || !isName(name) {
			return nil, fmt.Errorf("%q is no feature gate setting: write every item as Name=true or Name=false, "+
				"or every item as +Name or -Name", item)
		}
		if before, repeated := values[name]; repeated && before != value {
			return nil, fmt.Errorf("feature gate %s is set both true and false: keep one", name)
		}
		values[name] = value
	}
	return values, nil
}

func isName(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
