#!/usr/bin/env bash
# Prints the linker flags (-X) with version information for cmd/firn/stamp.go. Prints
# nothing outside of a git checkout, as in an unpacked archive.
#
# The version of a tagged commit is the tag; after a tag, it includes the number of commits
# since. Before the first tag it is Go's pseudo-version: v0.0.0, the time and the hash.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -e .git ] && commit=$(git rev-parse --verify -q HEAD) || exit 0

export TZ=UTC
time=$(git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)
dirty=false
[ -z "$(git status --porcelain 2>/dev/null)" ] || dirty=true
version=$(git describe --tags --match 'v[0-9]*' 2>/dev/null || true)
if [ -z "$version" ]; then
	version=v0.0.0-$(git log -1 --format=%cd --date=format-local:%Y%m%d%H%M%S)-${commit:0:12}
fi
[ "$dirty" = false ] || version+=+dirty
echo "-X main.version=$version -X main.commit=$commit -X main.committed=$time -X main.dirty=$dirty"
