#!/usr/bin/env bash
# Makes packages (deb, rpm, apk) from the Linux archives of a release, with nfpm. The same
# archives give the same bytes.
#
#   tools/packages.sh DIST VERSION TIME   VERSION and TIME as of tools/stamp.sh
#
# MAINTAINER is written into the packages.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
dist=$1 version=$2 time=$3
SOURCE_DATE_EPOCH=$(date -u -d "$time" +%s)
export SOURCE_DATE_EPOCH
export MAINTAINER=${MAINTAINER:-"The firn authors <releases@firn.dev>"}
description="firn saves every conversation that AI agents have, as plain JSON Lines in
append-only files. It has a library, a command-line chat, a gateway with a
web UI and a cluster mode. The service firn is installed but not enabled."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# nfpm is in a module of its own: it has more dependencies than all other tools.
GOFLAGS=-mod=readonly CGO_ENABLED=0 "$go" -C tools/nfpm build -o "$tmp/nfpm" github.com/goreleaser/nfpm/v2/cmd/nfpm
"$go" run ./cmd/pack -package-versions -version "$version" >"$tmp/versions"

# layout puts the files of an archive where a format expects them.
layout() {
	local from=$1 to=$2 format=$3 zsh=site-functions
	[ "$format" != deb ] || zsh=vendor-completions
	install -D -m 755 "$from/firn" "$to/usr/bin/firn"
	mkdir -p "$to/usr/share/man/man1" "$to/usr/share/doc/firn"
	gzip -9n -k -c "$from/man1/firn.1" >"$to/usr/share/man/man1/firn.1.gz"
	for page in "$from"/man1/firn-*.1; do
		gzip -9n -c "$page" >"$to/usr/share/man/man1/$(basename "$page").gz"
	done
	install -D -m 644 "$from/completions/firn.bash" "$to/usr/share/bash-completion/completions/firn"
	install -D -m 644 "$from/completions/_firn" "$to/usr/share/zsh/$zsh/_firn"
	install -D -m 644 "$from/completions/firn.fish" "$to/usr/share/fish/vendor_completions.d/firn.fish"
	cp -r "$from/docs" "$from/examples" "$from/licences" "$from/README.md" "$from/CHANGELOG.md" "$from/SECURITY.md" "$to/usr/share/doc/firn/"
	cp "$from/LICENSE" "$to/usr/share/doc/firn/copyright"
	# Alpine has no systemd.
	if [ "$format" != apk ]; then
		mkdir -p "$to/usr/lib/systemd/system"
		sed '/^#   install /d; s|/usr/local/bin/firn|/usr/bin/firn|' "$from/firn.service" >"$to/usr/lib/systemd/system/firn.service"
	fi
	find "$to" -type d -exec chmod 755 {} +
	find "$to" -type f ! -path "$to/usr/bin/*" -exec chmod 644 {} +
	find "$to" -exec touch -h -d "$time" {} +
}

for archive in "$dist"/firn_*_linux_*.tar.gz; do
	name=$(basename "$archive" .tar.gz)
	export ARCH=${name##*_}
	mkdir -p "$tmp/archive"
	tar -xzf "$archive" -C "$tmp/archive"
	while IFS='=' read -r format PACKAGE_VERSION; do
		export PACKAGE_VERSION ROOT="$tmp/$format-$ARCH"
		layout "$tmp/archive/$name" "$ROOT" "$format"
		# In a deb the first line is the summary; in an apk there is only one line.
		export DESCRIPTION="Saves the conversations of AI agents"
		[ "$format" = apk ] || DESCRIPTION+="
$description"
		"$tmp/nfpm" package --config packaging/nfpm.yaml --packager "$format" --target "$dist/" >"$tmp/log" || { cat "$tmp/log" >&2; exit 1; }
	done <"$tmp/versions"
done
