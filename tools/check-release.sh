#!/usr/bin/env bash
# Builds the programs of a release, tries the one of this machine, and builds it again in
# another directory: the bytes must be the same, and nothing of this machine in them.
#
# With COLD=1 the second build begins with an empty cache, which takes minutes. Without, it
# takes what was compiled from the cache, in which nothing with another path, flag or
# source counts as the same: what would differ is compiled again, and differs.
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

# Once more, somewhere else.
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

# In a root with nothing but the program, as in a container: with its words.
if [ "$(uname)" = Linux ]; then
	tools/check-container.sh "${one[0]}"
fi
