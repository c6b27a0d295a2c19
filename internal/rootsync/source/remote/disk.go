// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"slices"
	"syscall"
)

// isDisk says whether an error is one of this machine and not of what is written.
func isDisk(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ESTALE},
		func(errno error) bool { return errors.Is(err, errno) })
}
