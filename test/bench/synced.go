// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// syncUser is who the sync is, and who asks to act as the account of a RootSync.
const syncUser = "system:serviceaccount:" + manager.Namespace + ":holdfast-sync"

// syncSubject is a cluster with the workload "sync" alone, whose API server logs all writes.
type syncSubject struct {
	*subject
	log *auditlog.Log
	git *gitserver.Server
	// bare writes objects without the sync, with the rights of an administrator.
	bare dynamic.Interface
	// again are the writes of objects in first syncs beyond one of each.
	again float64
}

// withSync is a cluster in which the sync runs.
func (b *bench) withSync(ctx context.Context) (*syncSubject, error) {
	if err := b.prepare(ctx); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "sync-")
	if err != nil {
		return nil, err
	}
	log, options, err := auditlog.New(dir, auditv1.PolicyRule{
		Level: auditv1.LevelMetadata, Verbs: []string{"create", "update", "patch", "delete", "deletecollection"},
	}, auditv1.PolicyRule{Level: auditv1.LevelNone})
	if err != nil {
		return nil, err
	}
	s, err := newSubject(ctx, b, options, []string{"--cache-dir", filepath.Join(dir, "sources")})
	if s != nil {
		b.subjects = append(b.subjects, s)
	}
	if err != nil {
		return nil, err
	}
	b.version, s.workload = s.Version, manager.Sync
	for _, path := range []string{"config/crd/configsync", "config/namespaces/config-management-system.yaml", "config/rbac/sync.yaml"} {
		if _, err := manager.Kubectl(ctx, s.Cluster, "apply", "--server-side", "-f", path); err != nil {
			return nil, err
		}
	}
	if _, err := manager.Kubectl(ctx, s.Cluster, "wait", "--for=condition=Established", "--timeout=60s", "-f", "config/crd/configsync"); err != nil {
		return nil, err
	}
	out := &syncSubject{subject: s, log: log}
	if out.git, err = gitserver.New(ctx, filepath.Join(dir, "git"), gitserver.Options{}); err != nil {
		return nil, err
	}
	if out.bare, err = dynamic.NewForConfig(rest.CopyConfig(s.Config)); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	_, err = s.startManager(ctx)
	return out, err
}

// gitFailed is what the server of repositories takes for the end of a test.
type gitFailed struct{ why string }

type failing struct{}

func (failing) Helper() {}

func (failing) Fatal(args ...any) { panic(gitFailed{fmt.Sprint(args...)}) }

// commit changes files of a repository.
func (s *syncSubject) commit(repo string, files map[string]string) (commit string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			failed, is := cause.(gitFailed)
			if !is {
				panic(cause)
			}
			err = fmt.Errorf("commit to %s: %s", repo, failed.why)
		}
	}()
	return s.git.Repo(failing{}, repo).Change(failing{}, files), nil
}

// follow makes a RootSync of a folder of a repository.
func (s *syncSubject) follow(ctx context.Context, name, repo, dir, period string) error {
	rs := &configsyncv1beta1.RootSync{ObjectMeta: metav1.ObjectMeta{Namespace: object.SyncNamespace, Name: name}}
	rs.Spec.SourceFormat = configsyncv1beta1.FormatUnstructured
	rs.Spec.Git = &configsyncv1beta1.Git{Repo: s.git.URL() + "/" + repo + ".git", Branch: "main", Dir: dir, Auth: configsyncv1beta1.AuthNone, Period: period}
	if err := s.Client.Create(ctx, rs); err != nil {
		return fmt.Errorf("make RootSync %s: %w", name, err)
	}
	return nil
}

// synced waits until RootSyncs say that they have synced a commit.
func (s *syncSubject) synced(ctx context.Context, commit string, names ...string) error {
	return await(ctx, "RootSyncs have synced "+commit, 5*time.Millisecond, func(ctx context.Context) (bool, error) {
		for len(names) > 0 {
			rs := &configsyncv1beta1.RootSync{}
			if err := s.Client.Get(ctx, client.ObjectKey{Namespace: object.SyncNamespace, Name: names[0]}, rs); err != nil {
				return false, err
			}
			if summary := rs.Status.Sync.ErrorSummary; summary != nil && summary.TotalCount > 0 {
				return false, fmt.Errorf("RootSync %s has errors: %s", names[0], rs.Status.Sync.Errors[0].ErrorMessage)
			}
			if rs.Status.LastSyncedCommit != commit {
				return false, nil
			}
			names = names[1:]
		}
		return true, nil
	})
}

// written are writes of the sync.
type written struct {
	// objects are those that it writes as a RootSync, others what it writes as itself
	// beside its lease.
	objects, others []auditv1.Event
}

// writes are those from a place in the log on, and the place where it ends.
func (s *syncSubject) writes(from int) (out written, end int, err error) {
	events, err := s.log.Events()
	if err != nil {
		return out, 0, err
	}
	for _, e := range events[from:] {
		switch {
		case e.User.Username != syncUser, strings.Contains(e.RequestURI, "dryRun="), e.ResponseStatus != nil && e.ResponseStatus.Code >= 400:
		case e.ObjectRef != nil && e.ObjectRef.Resource == "leases":
		case e.ImpersonatedUser != nil:
			out.objects = append(out.objects, e)
		default:
			out.others = append(out.others, e)
		}
	}
	return out, len(events), nil
}

// atRest waits until the sync has written nothing for a while.
func (s *syncSubject) atRest(ctx context.Context) error {
	from, same := 0, 0
	return await(ctx, "the sync has nothing to write", time.Second, func(context.Context) (bool, error) {
		w, end, err := s.writes(from)
		same++
		if len(w.objects)+len(w.others) > 0 {
			same = 0
		}
		from = end
		return same > 5, err
	})
}

// filesOf are objects as files of a folder.
func filesOf(dir string, objects []object.Declared) (map[string]string, error) {
	files := map[string]string{}
	for _, d := range objects {
		text, err := yaml.Marshal(d.Object.Object)
		if err != nil {
			return nil, fmt.Errorf("encode: %w", err)
		}
		files[filepath.Join(dir, d.Path)] = string(text)
	}
	return files, nil
}
