// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"
	"testing/fstest"
)

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	const unlimited = "9223372036854771712\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"a container on version 2", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		{"a container that sees its path on the host", map[string]string{
			"proc/self/cgroup": "0::/kubepods.slice/pod1/c1\n", "sys/fs/cgroup/memory.max": "536870912\n",
		}, 512 << 20},
		{"the lowest limit of the groups above counts", map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1000\n", "sys/fs/cgroup/memory.max": "2000\n",
		}, 1000},
		{"a container on version 1", map[string]string{
			"proc/self/cgroup":                             "5:cpu,cpuacct:/x\n9:memory:/docker/1\n1:name=systemd:/x\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "268435456\n",
			"sys/fs/cgroup/cpu,cpuacct/memory.limit_bytes": "1\n",
		}, 256 << 20},
		{"no limit on version 2", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		{"no limit on version 1", map[string]string{"proc/self/cgroup": "9:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": unlimited}, 0},
		{"a host without control groups", nil, 0},
		{"lines that are none", map[string]string{"proc/self/cgroup": "\nx\n0:\n"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{}
			for name, text := range tt.files {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := memoryLimit(files); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
