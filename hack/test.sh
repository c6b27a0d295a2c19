#!/usr/bin/env bash
# Runs the tests of all modules: first those that need no cluster, then those that need one, then those
# with the clients of other projects, then those of the local control plane itself.
#
# usage: hack/test.sh [packages] [regular expression of test names]
#
# HOLDFAST_KUBECONFIG names a cluster without Holdfast for the tests that break nothing, package by
# package; each leaves it as it was. The others have local control planes in any case.
# RACE=required fails where the race detector cannot be had; RACE=off leaves it out.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go} packages=${1:-./...} run=${2:-}

say() { printf '\n== %s\n' "$*" >&2; }

# has_c_compiler says whether the race detector can be had: it needs cgo, and cgo a C compiler.
has_c_compiler() {
  [ "$("$go" env CGO_ENABLED)" = 1 ] && command -v "$("$go" env CC | cut -d' ' -f1)" >/dev/null
}

test=(test)
if [ "${RACE:-}" = off ]; then
  say 'NOTE: the tests run without the race detector'
elif has_c_compiler; then
  test+=(-race)
elif [ "${RACE:-}" = required ]; then
  echo 'the race detector needs a C compiler, and there is none' >&2
  exit 1
else
  say 'NOTE: no C compiler here, so the tests run without the race detector'
fi
[ -z "$run" ] || test+=(-run "$run")

say "Building $packages"
code=$("$go" list -f '{{if .GoFiles}}{{.ImportPath}}{{end}}' $packages) # some have tests alone
[ -z "$code" ] || "$go" build $code

# A package needs a cluster if its test binary links the package that starts one.
cluster=$("$go" list -m)/internal/testkit/cluster
binaries=$("$go" list -test -f '{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}' $packages)
fast=() slow=()
while read -r name deps; do
  case "$name $deps " in
    *.test\ *" $cluster "*) slow+=("${name%.test}") ;;
    *.test\ *) fast+=("${name%.test}") ;;
  esac
done <<<"$binaries"
if [ $((${#fast[@]} + ${#slow[@]})) = 0 ]; then
  echo "there are no tests in $packages" >&2
  exit 1
fi

if [ ${#fast[@]} -gt 0 ]; then
  say "Tests that need no cluster: ${#fast[@]} packages"
  "$go" "${test[@]}" -timeout 5m "${fast[@]}"
fi

if [ ${#slow[@]} -gt 0 ]; then
  say 'The local control plane and kwok: built once, which takes a quarter of an hour at most, and kept'
  "$go" run ./hack/localcluster
  [ -z "${HOLDFAST_KUBECONFIG:-}" ] || test+=(-p 1) # one Holdfast at a time
  say "Tests against a real API server: ${#slow[@]} packages"
  "$go" "${test[@]}" -timeout 40m "${slow[@]}"
fi

if [ "$packages" = ./... ] && [ -z "$run" ]; then
  say 'The story of the demo on Kubernetes 1.36, the oldest version that is tested'
  HOLDFAST_KUBERNETES=1.36 "$go" run ./hack/localcluster
  HOLDFAST_KUBERNETES=1.36 "$go" "${test[@]}" -timeout 20m -run '^TestRun_theWholeStory' ./demo

  say 'Tests with the clients of other projects, which are a module of their own'
  (cd test/clients && "$go" "${test[@]}" -timeout 20m ./...)

  say 'Tests of the chart, which are a module of their own because of Helm'
  (cd charts && "$go" "${test[@]}" -timeout 20m ./...)

  say 'Tests of the local control plane itself'
  # With the flags of the control plane's own build, one compilation of Kubernetes serves both.
  (cd localcluster && CGO_ENABLED=0 "$go" test -trimpath -timeout 20m ./...)
fi
