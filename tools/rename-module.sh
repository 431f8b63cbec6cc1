#!/usr/bin/env bash
# Renames the module: tools/rename-module.sh example.org/firn
#
# Replaces the module path in the go.mod files, imports, scripts and documents of this
# checkout. Use git diff to see the changes, and git checkout . to undo them.
set -euo pipefail
cd "$(dirname "$0")/.."
new=${1:?usage: tools/rename-module.sh NEW-MODULE-PATH}
[[ $new =~ ^[a-z0-9.-]+\.[a-z]+(/[A-Za-z0-9._~-]+)*$ ]] || { echo "rename-module: \"$new\" is not a module path" >&2; exit 1; }
old=$(sed -n 's/^module //p' go.mod)
[ "$new" != "$old" ] || { echo "rename-module: the module is called $new already" >&2; exit 1; }

find . \( -name node_modules -o -name .git -o -name testdata -o -name dist \) -prune -o -type f \
	\( -name '*.go' -o -name go.mod -o -name '*.md' -o -name '*.sh' -o -name Makefile \) -print0 |
	OLD=$old NEW=$new xargs -0 perl -pi -e 's{(?<![\w.@/-])\Q$ENV{OLD}\E(?=["/\s]|$)}{$ENV{NEW}}g'
find . \( -name node_modules -o -name testdata \) -prune -o -name '*.go' -print0 | xargs -0 gofmt -w
