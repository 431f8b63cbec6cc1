#!/usr/bin/env bash
# Prints the packages in which something runs side by side, by themselves or in
# their tests: those that start goroutines, or guard against others who do. In
# the rest there is nothing that the race detector could find.
set -euo pipefail
cd "$(dirname "$0")/.."
side_by_side='^[[:space:]]*go (func|[a-zA-Z_]+[.(])|"sync"|"sync/atomic"|\.Go\('
"${GO:-go}" list -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r package dir; do
	if grep -qE "$side_by_side" "$dir"/*.go; then
		echo "$package"
	fi
done
