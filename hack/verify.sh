#!/usr/bin/env bash
# Makes everything again that is made from something else, lints, and fails if that changed a file or
# if there is a change that is neither committed nor staged. Every step runs; the end tells which failed.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go} make=${MAKE:-make}

# Folders whose files are all generated; a file in them that git does not know is a failure too.
generated=(config/crd docs/reference 'api/*zz_generated*')
failed=()

step() { # step NAME COMMAND...
  local name=$1
  shift
  printf '\n== %s\n' "$name"
  "$@" || failed+=("$name")
}

tidy() {
  local module
  for module in . kwok localcluster test/clients tools; do
    (cd "$module" && "$go" mod tidy) || return
  done
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

step 'make generate' "$make" generate
step 'go mod tidy' tidy
step 'make lint' "$make" lint
step 'nothing uncommitted' clean_tree

if [ ${#failed[@]} -gt 0 ]; then
  printf '\nmake verify FAILED: '
  printf '%s; ' "${failed[@]}"
  printf '\nA file that "make generate" or "go mod tidy" changed is now right: look at it and commit it.\n'
  exit 1
fi
printf '\nmake verify passed\n'
