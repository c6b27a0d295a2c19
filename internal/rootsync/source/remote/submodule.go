// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"path"
	"strings"
)

// SubmoduleFile is the name, in the folder of a Git submodule, of the file that Writer.Submodule
// writes. No tree of Git has a file of that name, and Git itself has one at this place.
const SubmoduleFile = ".git"

const submodule = "submodule "

// Submodule writes the folder of a Git submodule, with the commit that the tree refers to. Submodules
// are not fetched: readers of the folder refuse it, since its content is missing.
func (w *Writer) Submodule(name, commit string) error {
	if err := w.Dir(name); err != nil {
		return err
	}
	text := submodule + commit
	return w.File(path.Join(name, SubmoduleFile), false, int64(len(text)), strings.NewReader(text))
}

// IsSubmodule reports whether the content of a SubmoduleFile is of Writer.Submodule. In an image
// it may be one of Git, beside the content of the submodule.
func IsSubmodule(content []byte) bool { return strings.HasPrefix(string(content), submodule) }
