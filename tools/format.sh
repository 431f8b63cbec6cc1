#!/usr/bin/env bash
# Lists unformatted files and fails if there are any. Checks only tracked files and new
# files that git does not ignore.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.go' | while read -r f; do
	if [ -f "$f" ]; then echo "$f"; fi
done)
[ "${#files[@]}" -gt 0 ] || exit 0
unformatted=$(gofmt -l "${files[@]}")
if [ -n "$unformatted" ]; then
	echo "not formatted (make fmt does it):" >&2
	echo "$unformatted" >&2
	exit 1
fi
echo "gofmt: ${#files[@]} files are formatted"
