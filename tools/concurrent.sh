#!/usr/bin/env bash
# Prints the packages in which something runs side by side: those that start
# goroutines, or guard against others who do. In the rest there is nothing for the
# race detector to find but in their tests.
set -euo pipefail
cd "$(dirname "$0")/.."
side_by_side='^[[:space:]]*go (func|[a-zA-Z_]+[.(])|"sync"|"sync/atomic"|\.Go\('
"${GO:-go}" list -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r package dir; do
	if find "$dir" -maxdepth 1 -name '*.go' ! -name '*_test.go' -exec grep -qE "$side_by_side" {} + ; then
		echo "$package"
	fi
done
