#!/usr/bin/env bash
# Installs what the tests need and a plain machine may lack. Says nothing and
# does nothing when all is there; may be run any number of times.
#
# It helps and does not judge: what it cannot install it names, and the test
# that needs it will fail by itself.
set -euo pipefail

# command, the Debian package that has it, who needs it
needs=(
	"cc gcc the race detector"
	"git git the format check"
	"npm npm the tests with other programs (interop)"
)

# The tests mount a file system that fails and loses power. Root may do that by
# itself; others need the helper of FUSE.
if [ "$(uname)" = Linux ]; then
	[ "$(id -u)" -eq 0 ] || needs+=("fusermount3 fuse3 the file system that fails")
	[ -e /dev/fuse ] || echo "setup: /dev/fuse is missing; the file system that fails needs it (modprobe fuse)" >&2
fi

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
elif ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"; } >&2; then
	echo "setup: could not install: ${missing[*]}" >&2
fi

# The other programs themselves, at the versions of the lock file. Npm leaves a
# lock file of its own behind when it is done: if that is older than ours, or
# not there, they are not those that the tests want.
cd "$(dirname "$0")/../interop"
installed=node_modules/.package-lock.json
if [ ! -e "$installed" ] || [ package-lock.json -nt "$installed" ]; then
	echo "setup: installing the programs that interop tries our files with (1.3 GB)" >&2
	if ! npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2; then
		echo "setup: could not install them; the tests of interop will fail" >&2
	fi
fi
