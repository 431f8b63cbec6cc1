#!/usr/bin/env bash
# Prints the packages with concurrent code: those that start goroutines or use locks.
# In the others the race detector could find races only in their tests.
set -euo pipefail
cd "$(dirname "$0")/.."
side_by_side='^[[:space:]]*go (func|[a-zA-Z_]+[.(])|"sync"|"sync/atomic"|\.Go\('
"${GO:-go}" list -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r package dir; do
	if find "$dir" -maxdepth 1 -name '*.go' ! -name '*_test.go' -exec grep -qE "$side_by_side" {} + ; then
		echo "$package"
	fi
done
