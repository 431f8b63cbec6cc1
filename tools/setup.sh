#!/usr/bin/env bash
# Installs missing dependencies of the tests. It is idempotent, and prints nothing if all
# are installed.
#
# With the argument all it also installs the dependencies of make interop-all.
#
# It does not fail: it lists the dependencies that it cannot install, and the tests that
# need them fail.
set -euo pipefail

# command, its Debian package, the tests that need it
needs=(
	"cc gcc the race detector"
	"git git the format check"
	"npm npm the tests with other programs (interop)"
	"ssh-keygen openssh-client the tests of the installation script"
	"curl curl the tests of the installation script and of the tutorials"
	"jq jq the test that runs the tutorials"
)

# A browser for the tests of the web UI. The small build is headless.
browser=chromium
for b in chromium-headless-shell chromium google-chrome chrome; do
	if command -v "$b" >/dev/null 2>&1; then
		browser=$b
		break
	fi
done
[ "$(uname)" != Linux ] || needs+=("$browser chromium-headless-shell the tests of the pages (internal/door/webui/webtest)")

# The tests mount a file system that simulates errors and power failures. Users other than
# root need the FUSE helper.
if [ "$(uname)" = Linux ]; then
	[ "$(id -u)" -eq 0 ] || needs+=("fusermount3 fuse3 the file system that fails")
	needs+=("mkfs.ext4 e2fsprogs the soak, for a small disk")
	[ -e /dev/fuse ] || echo "setup: /dev/fuse is missing; the file system that fails needs it (modprobe fuse)" >&2
fi

# install_packages installs packages, and the available build of the browser.
install_packages() {
	local packages=("$@")
	apt-cache show chromium-headless-shell >/dev/null 2>&1 || packages=("${packages[@]/chromium-headless-shell/chromium}")
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${packages[@]}"
}

missing=()
for line in "${needs[@]}"; do
	read -r command package reason <<<"$line"
	if ! command -v "$command" >/dev/null 2>&1; then
		echo "setup: $command is missing; $reason needs it" >&2
		missing+=("$package")
	fi
done
if [ "${#missing[@]}" -eq 0 ]; then
	:
elif [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	echo "setup: please install: ${missing[*]}" >&2
elif ! { apt-get update -qq && install_packages "${missing[@]}"; } >&2; then
	echo "setup: could not install: ${missing[*]}" >&2
fi

# node_modules DIR WHAT TESTS installs the packages in the lock file of a directory.
# npm writes its own lock file when it is done: if that is missing or older than the
# directory's, the installation is out of date.
node_modules() {
	cd "$1"
	local installed=node_modules/.package-lock.json
	if [ ! -e "$installed" ] || [ package-lock.json -nt "$installed" ]; then
		echo "setup: installing $2" >&2
		if ! npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2; then
			echo "setup: could not install that; $3 will fail" >&2
		fi
	fi
}

cd "$(dirname "$0")/.."
(node_modules proving/interop "the programs that interop tries our files with (1.4 GB)" "the tests of interop")
(node_modules proving/interop/adapters "the agent frameworks that use a gateway as their store (150 MB)" "the tests of packaging/npm")
[ "${1:-}" != all ] || (node_modules proving/interop/openclaw "OpenClaw, for make interop-all (1.3 GB)" "the tests with OpenClaw")
(node_modules internal/door/webui "what checks the pages" "the tests of the pages")
