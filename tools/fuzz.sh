#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each (default 30s).
# Lists the failing targets at the end; their inputs are under testdata/fuzz of the
# package, and should be committed with the fix.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${1:-30s}

targets=0
found=()
while read -r package; do
	while read -r target; do
		echo "== $package $target for $time"
		"$go" test "$package" -run '^$' -fuzz "^${target}\$" -fuzztime "$time" -fuzzminimizetime 10x </dev/null || found+=("$package $target")
		targets=$((targets + 1))
	done < <("$go" test -list '^Fuzz' "$package" | grep '^Fuzz' || true)
done < <("$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | grep .)
if [ "$targets" -eq 0 ]; then
	echo "no fuzz target found: that cannot be right" >&2
	exit 1
fi
if [ ${#found[@]} -gt 0 ]; then
	printf 'found by %s\n' "${found[@]}" >&2
	exit 1
fi
echo "$targets fuzz targets, nothing found"
