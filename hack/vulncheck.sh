#!/usr/bin/env bash
# Looks for known vulnerabilities in what Holdfast calls. Exit code 0: none. 1: some, or it could not be
# found out. 4: the Go vulnerability database cannot be reached from here, so nothing was looked for.
# With VULNDB=file:///path a copy of the database is used.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
tool=("$go" tool -modfile=tools/go.mod govulncheck)
[ -z "${VULNDB:-}" ] || tool+=(-db "$VULNDB")

# One small package first: that takes a second, and says whether there is a database.
code=0
out=$("${tool[@]}" ./internal/platform/text 2>&1) || code=$?
# 3 is that there are some; the whole run says which.
if [ $code != 0 ] && [ $code != 3 ]; then
  printf '%s\n' "$out" >&2
  case $out in
    *'fetching vulnerabilities:'*) exit 4 ;;
  esac
  exit 1
fi

"${tool[@]}" ./... || exit 1
