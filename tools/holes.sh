#!/usr/bin/env bash
# Checks the dependencies for known vulnerabilities. It needs the database on the network;
# without it, it prints a line and does not fail.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
go=${GO:-go}

out=$("$go" tool -modfile=tools/go.mod govulncheck ./... 2>&1)
code=$?
if [ "$code" -ne 0 ] && grep -q 'fetching vulnerabilities' <<<"$out"; then
	echo "govulncheck: NOT RUN, its database cannot be reached from here"
	exit 0
fi
echo "$out"
exit "$code"
