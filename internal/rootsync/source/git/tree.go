// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

// maxRecord is how long one entry of a tree may be: a path of Linux has 4096 bytes.
const maxRecord = 4096 + 256

// The modes of entries in a tree.
const (
	modeExecutable = "100755"
	modeLink       = "120000"
	modeSubmodule  = "160000"
)

// entry is a file, a link, or the place of a submodule, in a tree.
type entry struct {
	mode, id, path string
	size           int64
}

// Export fetches a commit and writes its files into a new folder, as they are, without what
// attributes would make of them. In place of the content of a submodule it writes what
// remote.IsSubmodule reads.
func (r *Repository) Export(ctx context.Context, t remote.Target, commit, dir string) *knv.Error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*r.options.FetchTimeout, errTimeout)
	defer cancel()
	if err := r.fetchCommit(ctx, commit, t.Depth); err != nil {
		return r.explain(err)
	}
	if _, err := r.commitOf(ctx, commit); err != nil && ctx.Err() == nil {
		return r.explain(remote.Content("it has no commit %s among the last of each branch; "+
			"correct spec.git.revision, or raise spec.override.gitSyncDepth", commit))
	}
	if err := r.write(ctx, commit, dir); err != nil {
		_ = remote.RemoveAll(dir)
		return r.explain(err)
	}
	return nil
}

func (r *Repository) write(ctx context.Context, commit, dir string) (err error) {
	w, err := remote.NewWriter(dir, r.options.Limits)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	entries, err := r.entries(ctx, commit, w)
	if err != nil {
		return err
	}
	if err := r.contents(ctx, entries, w); err != nil {
		return err
	}
	return w.Finish()
}

// entries lists a commit's files, no more than may be.
func (r *Repository) entries(ctx context.Context, commit string, w *remote.Writer) (out []entry, err error) {
	list := func(in io.Reader) error {
		records := bufio.NewScanner(in)
		records.Buffer(nil, maxRecord)
		records.Split(untilZero)
		for records.Scan() {
			e, err := parseEntry(records.Text())
			if err != nil {
				return err
			}
			if err := w.Take(1, e.size); err != nil {
				return err
			}
			out = append(out, e)
		}
		return records.Err()
	}
	err = r.pipe(ctx, nil, list, "ls-tree", "-r", "-z", "--long", "--full-tree", commit)
	return out, err
}

// untilZero is a bufio.SplitFunc for records that end with a zero byte.
func untilZero(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return 0, nil, errors.New("the list of files ends within an entry")
	}
	return 0, nil, nil
}

// parseEntry reads "<mode> <type> <id> <size>\t<path>", where the size is padded and a
// submodule has none.
func parseEntry(record string) (entry, error) {
	head, path, found := strings.Cut(record, "\t")
	f := strings.Fields(head)
	if !found || len(f) != 4 || !full.MatchString(f[2]) {
		return entry{}, fmt.Errorf("the list of files has an entry that is none: %.80q", record)
	}
	name, err := remote.Clean(path)
	if err != nil {
		return entry{}, err
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return entry{}, remote.Content("it has a folder %s, which no tree may have", path)
		}
	}
	e := entry{mode: f[0], id: f[2], path: name}
	if e.mode == modeSubmodule {
		return e, nil
	}
	e.size, err = strconv.ParseInt(f[3], 10, 64)
	if err != nil || e.size < 0 || f[1] != "blob" {
		return entry{}, fmt.Errorf("the list of files has an entry that is none: %.80q", record)
	}
	return e, nil
}

// contents writes the files, with one process for all.
func (r *Repository) contents(ctx context.Context, entries []entry, w *remote.Writer) error {
	var ids strings.Builder
	for _, e := range entries {
		if e.mode != modeSubmodule {
			ids.WriteString(e.id + "\n")
		}
	}
	receive := func(in io.Reader) error {
		objects := bufio.NewReaderSize(in, 64<<10)
		for _, e := range entries {
			if err := writeEntry(w, e, objects); err != nil {
				return err
			}
		}
		return nil
	}
	return r.pipe(ctx, strings.NewReader(ids.String()), receive, "cat-file", "--batch", "--buffer")
}

// writeEntry writes one entry, whose content comes next from "git cat-file --batch":
// "<id> <type> <size>\n<content>\n".
func writeEntry(w *remote.Writer, e entry, in *bufio.Reader) error {
	if e.mode == modeSubmodule {
		return w.Submodule(e.path, e.id)
	}
	header, err := in.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("read %s: %w", e.path, err)
	}
	if want := fmt.Sprintf("%s blob %d\n", e.id, e.size); string(header) != want {
		return fmt.Errorf("read %s: git says %.80q", e.path, header)
	}
	if e.mode == modeLink {
		err = writeLink(w, e, in)
	} else {
		err = w.File(e.path, e.mode == modeExecutable, e.size, in)
	}
	if err == nil {
		_, err = in.Discard(1)
	}
	return err
}

func writeLink(w *remote.Writer, e entry, in io.Reader) error {
	if e.size > maxRecord {
		return remote.Content("%s is a symbolic link to nothing", e.path)
	}
	target := make([]byte, e.size)
	if _, err := io.ReadFull(in, target); err != nil {
		return err
	}
	return w.Link(e.path, string(target))
}

// pipe runs git on the own repository and reads what it says with a function. Where that
// fails git is ended, and the function's error counts.
func (r *Repository) pipe(ctx context.Context, in io.Reader, read func(io.Reader) error, args ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pr, pw := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := r.run(ctx, nil, in, pw, append([]string{r.withGitDir()}, args...)...)
		_ = pw.CloseWithError(err)
		done <- err
	}()
	err := read(pr)
	if err != nil {
		cancel()
	}
	_ = pr.CloseWithError(errors.New("no more is wanted"))
	ended := <-done
	if err != nil {
		return err
	}
	return ended
}
