#!/usr/bin/env bash
# Prints what the linker is told of the sources: flags -X for cmd/firn/stamp.go. Prints
# nothing where git does not know them, as in an unpacked archive.
#
# The version of a tag is the tag; behind one it also counts the commits since. Before
# the first it is what Go calls such a commit: v0.0.0, its time, the beginning of its hash.
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
