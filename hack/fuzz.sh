#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other: the fuzzer takes one target at a time.
#
# usage: hack/fuzz.sh [time for each] [name of one target]
#
# HOLDFAST_KUBECONFIG names a cluster to use instead of the local control plane.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go} time=${1:-30s} only=${2:-}
cluster=$("$go" list -m)/internal/testkit/cluster

# needs_cluster says whether the tests of a package link the package that starts a cluster.
needs_cluster() {
  local deps
  deps=$("$go" list -deps -test "$1")
  [[ $'\n'$deps$'\n' == *$'\n'$cluster$'\n'* ]]
}

n=0
while IFS=: read -r file name; do
  package=./$(dirname "$file") name=${name#func } name=${name%(}
  [ -z "$only" ] || [ "$only" = "$name" ] || continue
  n=$((n + 1))
  printf '\n== %s in %s, %s\n' "$name" "$package" "$time"
  if [ -z "${HOLDFAST_KUBECONFIG:-}" ] && needs_cluster "$package"; then
    "$go" run ./hack/localcluster
  fi
  "$go" test -run='^$' -fuzz="^$name\$" -fuzztime="$time" "$package"
done < <(git grep --untracked -oE '^func Fuzz[A-Za-z0-9_]+\(' -- '*_test.go' ':!localcluster' ':!tools')

[ "$n" -gt 0 ] || { echo "there is no fuzz target${only:+ named $only}" >&2; exit 1; }
printf '\n%d fuzz targets ran %s each and found nothing\n' "$n" "$time"
