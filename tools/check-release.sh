#!/usr/bin/env bash
# Builds the programs of a release, runs the one for this machine, and builds it again in
# another directory: the bytes must be identical, and contain no paths of this machine.
#
# With COLD=1 the second build starts with an empty cache, which takes minutes. Otherwise
# it uses the build cache, whose keys include paths, flags and sources, so that differing
# packages are still compiled again.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
here=$("$go" env GOHOSTOS)/$("$go" env GOHOSTARCH)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() {
	echo "check-release: $*" >&2
	exit 1
}

tools/release.sh build "$tmp/one"
for f in "$tmp"/one/*/*; do
	echo "${f#"$tmp/one/"} $(($(wc -c <"$f") / 1000000)) MB"
done

# Build again in another directory.
mkdir -p "$tmp/a/b/c/sources"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do
	[ ! -e "$f" ] || printf '%s\0' "$f"
done | tar --null -T - -cf - | tar -xf - -C "$tmp/a/b/c/sources"
[ -z "${COLD:-}" ] || export GOCACHE="$tmp/cache"
TARGETS=$here tools/release.sh build "$tmp/two" "$tmp/a/b/c/sources"
one=("$tmp"/one/"${here/\//_}"/firn*)
two=("$tmp"/two/"${here/\//_}"/firn*)
cmp "${one[0]}" "${two[0]}" || fail "the same sources in two directories give two programs"
for path in "$PWD/" "$tmp" "$("$go" env GOMODCACHE)/" "$("$go" env GOROOT)/"; do
	! grep -aqF "$path" "${one[0]}" || fail "the program knows $path, where it was built"
done
stamp=$(tools/stamp.sh)
commit=$(sed -n 's/.*main.commit=\([0-9a-f]*\).*/\1/p' <<<"$stamp")
"${one[0]}" version | grep -qF "commit $commit" || fail "the program does not know its commit"
echo "built twice: $(sha256sum <"${one[0]}" | cut -c1-64)"

# Run it as in a container, in a root with only the program.
if [ "$(uname)" = Linux ]; then
	tools/check-container.sh "${one[0]}"
fi
