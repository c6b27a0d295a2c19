// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package brake

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// incident is what people are asked about: all copies that have come to wait since
// it began. That some of them may stay after all is no reason to ask again; that
// more come is one.
type incident struct {
	since    time.Time
	asked    map[string]bool
	sum      uint64 // of the names, in any order
	copies   int
	examples []string
}

// maxExamples are shown to people.
const maxExamples = 3

// newIncident begins now, or when that of an earlier process began.
func newIncident(now, resumed time.Time) incident {
	if !resumed.IsZero() {
		now = resumed
	}
	return incident{since: now.UTC().Truncate(time.Second), asked: map[string]bool{}}
}

func (i *incident) add(name string, copies int) {
	if i.asked[name] {
		return
	}
	i.asked[name] = true
	hash := sha256.Sum256([]byte(name))
	i.sum += binary.BigEndian.Uint64(hash[:])
	i.copies = copies
	if len(i.examples) < maxExamples {
		i.examples = append(i.examples, name)
	}
}

// token is the word that stands for these copies in this incident.
func (i *incident) token() string {
	hash := sha256.Sum256(fmt.Appendf(nil, "%d %d %d", i.since.Unix(), len(i.asked), i.sum))
	return fmt.Sprintf("%d-%x", len(i.asked), hash[:4])
}

// Halt is what waits for consent.
type Halt struct {
	// Token is the word of consent. It begins with how many copies people are asked
	// about.
	Token string
	// Held are how many wait, Copies how many there were, and Gone how many have gone
	// a short while ago without an explanation.
	Held, Copies, Gone int
	// Since is when the first of them came to wait.
	Since time.Time
	// Examples are some of them.
	Examples []string
}

// Message says it to people, with the command that consents.
func (h Halt) Message() string {
	text := fmt.Sprintf("%d of %d copies would go now", h.Held, max(h.Copies, h.Held))
	if h.Gone > 0 {
		text += fmt.Sprintf(", and %d have gone in the last %d minutes", h.Gone, int(Window.Minutes()))
	}
	return text + ", though nobody was seen to delete what they were copied from, or to take them out there. None of them goes until somebody consents: " +
		"kubectl annotate hncconfiguration config --overwrite " + v1alpha1.LetCopiesGoAnnotation + "=" + h.Token +
		". Among them: " + strings.Join(slices.Clone(h.Examples), ", ")
}
