#!/usr/bin/env bash
# Makes everything again that is made from something else, lints, and fails if that changed a file or
# if there is a change that is neither committed nor staged. Every step runs; the end tells which failed.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go} make=${MAKE:-make}

# Folders whose files are all generated; a file in them that git does not know is a failure too.
generated=(config/crd config/install config/rbac config/workloads charts/holdfast/files docs/reference 'api/*zz_generated*')
failed=() undone=()

step() { # step NAME COMMAND...
  local name=$1
  shift
  printf '\n== %s\n' "$name"
  "$@" || failed+=("$name")
}

tidy() {
  local module
  for module in . charts kwok localcluster test/clients test/gitops tools; do
    (cd "$module" && "$go" mod tidy) || return
  done
  (cd localcluster && "$go" mod tidy -modfile=kubernetes-1.36.mod)
}

clean_tree() {
  local changed unknown
  changed=$(git diff --name-status)
  unknown=$(git ls-files --others --exclude-standard -- "${generated[@]}")
  if [ -z "$changed$unknown" ]; then
    echo 'nothing differs'
    return
  fi
  [ -z "$changed" ] || printf 'differ from what is committed or staged:\n%s\n' "$changed"
  [ -z "$unknown" ] || printf 'generated, and unknown to git:\n%s\n' "$unknown"
  git --no-pager diff --stat -p -- "${generated[@]}" '*go.mod' | head -200
  return 1
}

# vulnerabilities are looked for where the database can be reached. Where it cannot, that is said at
# the end, and with VULNCHECK=required, as for a release, it is a failure.
vulnerabilities() {
  local code=0
  hack/vulncheck.sh || code=$?
  if [ $code = 4 ] && [ "${VULNCHECK:-}" != required ]; then
    undone+=('known vulnerabilities were NOT looked for, because the Go vulnerability database cannot be reached')
    return 0
  fi
  return $code
}

step 'make generate' "$make" generate
step 'go mod tidy' tidy
step 'make lint' "$make" lint
step 'make vulncheck' vulnerabilities
step 'nothing uncommitted' clean_tree

if [ ${#failed[@]} -gt 0 ]; then
  printf '\nmake verify FAILED: '
  printf '%s; ' "${failed[@]}"
  printf '\nA file that "make generate" or "go mod tidy" changed is now right: look at it and commit it.\n'
  exit 1
fi
if [ ${#undone[@]} -gt 0 ]; then
  printf '\nmake verify passed, but:'
  printf ' %s.' "${undone[@]}"
  printf '\nRun "make vulncheck" where it can be, or with VULNDB=file:///path to a copy. A release needs it.\n'
  exit 0
fi
printf '\nmake verify passed\n'
