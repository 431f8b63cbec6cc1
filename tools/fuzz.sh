#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each (default 30s).
# Stops at the first that finds something; the input is then under testdata/fuzz
# of its package, and belongs into the repository with the mend.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${1:-30s}

targets=0
while read -r package; do
	while read -r target; do
		echo "== $package $target for $time"
		"$go" test "$package" -run '^$' -fuzz "^${target}\$" -fuzztime "$time" -fuzzminimizetime 10x </dev/null
		targets=$((targets + 1))
	done < <("$go" test -list '^Fuzz' "$package" | grep '^Fuzz' || true)
done < <("$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | grep .)
if [ "$targets" -eq 0 ]; then
	echo "no fuzz target found: that cannot be right" >&2
	exit 1
fi
echo "$targets fuzz targets, nothing found"
