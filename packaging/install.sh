#!/bin/sh
# Installs firn for this user: downloads the checksums of a release with their signature, and
# the archive for this machine, verifies both, and installs the program with its manual pages
# and completions. It needs curl or wget, tar, and ssh-keygen (OpenSSH 8.1 or later).
#
#   FIRN_URL        address of the release's files
#   FIRN_KEY        public key of the publisher (ssh-ed25519 AAAA…), or a file that contains it
#   FIRN_VERSION    version that the release must have, such as v1.2.3
#   FIRN_UNSIGNED   1 installs without checking a signature: only damage is noticed
#   PREFIX          where to install; the default is ~/.local
#
# A release fills in the first three. The whole script is read before anything runs.
set -eu

release_url=''
release_key=''
release_version=''

fail() {
	echo "install.sh: $1" >&2
	[ -z "${2:-}" ] || echo "hint: $2" >&2
	exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# fetch downloads a file of the release.
fetch() {
	if has curl; then
		curl --fail --silent --show-error --location --retry 2 --output "$2" "$url/$1"
	elif has wget; then
		wget --quiet --tries=3 --output-document="$2" "$url/$1"
	else
		fail "neither curl nor wget is installed" "install one of them"
	fi || fail "could not download $url/$1" "check the address and the connection; nothing was installed"
}

# sum prints the SHA-256 of a file.
sum() {
	if has sha256sum; then
		sha256sum "$1"
	elif has shasum; then
		shasum -a 256 "$1"
	else
		openssl dgst -sha256 -r "$1"
	fi | cut -c1-64
}

# system prints the operating system and the processor as in the names of archives.
system() {
	case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "there is no archive for $(uname -s) that this script can install" "on Windows use the zip archive or Scoop" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no archive for $(uname -m)" "build firn from its sources" ;;
	esac
	echo "${os}_$arch"
}

# check_signature verifies that the publisher signed the checksums.
check_signature() {
	if [ "${FIRN_UNSIGNED:-}" = 1 ]; then
		echo "install.sh: the signature is not checked (FIRN_UNSIGNED=1)" >&2
		return
	fi
	[ -n "$key" ] || fail "the key of the publisher is not known" "set FIRN_KEY to the key, or FIRN_UNSIGNED=1 to install without checking the signature"
	has ssh-keygen || fail "ssh-keygen is not installed" "install OpenSSH, or set FIRN_UNSIGNED=1 to install without checking the signature"
	fetch SHA256SUMS.sig "$tmp/SHA256SUMS.sig"
	if [ -f "$key" ]; then
		key=$(cat "$key")
	fi
	printf 'firn namespaces="firn-release" %s\n' "$key" >"$tmp/signers"
	ssh-keygen -Y verify -f "$tmp/signers" -I firn -n firn-release -s "$tmp/SHA256SUMS.sig" <"$tmp/SHA256SUMS" >"$tmp/verified" 2>&1 ||
		fail "the signature of SHA256SUMS is not by the publisher's key" "do not use these files; nothing was installed"
}

# archive_name prints the name of this machine's archive, which the checksums list.
archive_name() {
	name=$(sed -n "s/^[0-9a-f]\{64\}  \(firn_[0-9A-Za-z.+-]*_$1\.tar\.gz\)\$/\1/p" "$tmp/SHA256SUMS")
	case $name in
	"") fail "the release has no archive for $1" "build firn from its sources" ;;
	*"
"*) fail "the release has several archives for $1" "use another address" ;;
	esac
	if [ -n "$version" ] && [ "$name" != "firn_${version#v}_$1.tar.gz" ]; then
		fail "the release is $name, not $version" "set FIRN_VERSION to the version you want, or use the address of $version"
	fi
	echo "$name"
}

# put installs a file of the archive. It replaces an existing one at once, so that a running
# or interrupted installation leaves either the old file or the new one.
put() {
	mkdir -p "$prefix/$(dirname "$3")"
	cp "$tmp/archive/$2" "$prefix/$3.new"
	chmod "$1" "$prefix/$3.new"
	mv -f "$prefix/$3.new" "$prefix/$3"
	installed="$installed '$prefix/$3'"
}

main() {
	url=${FIRN_URL:-$release_url}
	key=${FIRN_KEY:-$release_key}
	version=${FIRN_VERSION:-$release_version}
	prefix=${PREFIX:-${HOME:?}/.local}
	[ -n "$url" ] || fail "the address of the release is not known" "set FIRN_URL to the directory that has its files"
	url=${url%/}
	case $prefix in
	/*) ;;
	*) prefix=$PWD/$prefix ;;
	esac
	case $prefix in
	*"'"*) fail "PREFIX contains a quote" "choose another directory" ;;
	esac
	target=$(system)
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM

	fetch SHA256SUMS "$tmp/SHA256SUMS"
	check_signature
	name=$(archive_name "$target")
	fetch "$name" "$tmp/$name"
	want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\$/\1/p" "$tmp/SHA256SUMS")
	got=$(sum "$tmp/$name")
	[ "$got" = "$want" ] || fail "the checksum of $name is $got, not $want" "the file is damaged or was changed; try again; nothing was installed"
	mkdir "$tmp/archive"
	tar -xzf "$tmp/$name" -C "$tmp/archive" --strip-components=1
	"$tmp/archive/firn" version >/dev/null || fail "the program does not run on this machine" "nothing was installed"

	installed=
	put 755 firn bin/firn
	for page in "$tmp"/archive/man1/*.1; do
		page=$(basename "$page")
		put 644 "man1/$page" "share/man/man1/$page"
	done
	put 644 completions/firn.bash share/bash-completion/completions/firn
	put 644 completions/_firn share/zsh/site-functions/_firn
	put 644 completions/firn.fish share/fish/vendor_completions.d/firn.fish
	mkdir -p "$prefix/share/firn"
	printf 'rm -f%s\n' "$installed '$prefix/share/firn/uninstall.sh'" >"$prefix/share/firn/uninstall.sh"

	"$prefix/bin/firn" version | head -n 1
	echo "installed in $prefix/bin"
	echo "uninstall: sh '$prefix/share/firn/uninstall.sh'   (sessions in ~/.firn are kept)"
	case :$PATH: in
	*:"$prefix/bin":*) ;;
	*) echo "note: $prefix/bin is not on your PATH" ;;
	esac
}

main "$@"
