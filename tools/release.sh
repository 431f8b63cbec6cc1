#!/usr/bin/env bash
# Makes a release below dist/: static programs for six systems, each in an archive with
# what belongs to it, its list of modules (CycloneDX), and checksums of all of them. The
# same commit and the same Go give the same bytes, wherever and whenever it is run.
#
#   tools/release.sh                      all of it
#   tools/release.sh build OUT [SOURCES]  only the programs, into OUT/OS_ARCH
#
# TARGETS names the systems, as OS/ARCH.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
targets=${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}

# Nothing of where and when it is built gets in: no paths (-trimpath), no C compiler
# (CGO_ENABLED), no build id; what git knows is told by the stamp alone. Settings of
# this machine that change code are put back to what Go comes with.
build() {
	local out=$1 sources=${2:-.} stamp
	stamp=$(tools/stamp.sh)
	for t in $targets; do
		local name=firn
		[ "${t%/*}" != windows ] || name=firn.exe
		(cd "$sources" && env -u GOAMD64 -u GOARM64 -u GOEXPERIMENT GOFLAGS= CGO_ENABLED=0 GOOS="${t%/*}" GOARCH="${t#*/}" \
			"$go" build -trimpath -buildvcs=false -ldflags "-s -w -buildid= $stamp" -o "$out/${t/\//_}/$name" ./cmd/firn)
	done
}

# shared gathers what every archive has besides the program. The program of this machine
# writes its own manual pages and completions.
shared() {
	local dir=$1 firn=$2
	mkdir -p "$dir/completions" "$dir/licences"
	cp LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md packaging/INSTALL.md packaging/firn.service "$dir/"
	# What the README leads to, as far as git knows it.
	git ls-files -z docs examples | tar --null -T - -cf - | tar -xf - -C "$dir"
	# Licences of what is in the program and is no module; pack adds those of modules.
	cp packaging/licences/*.txt "$dir/licences/"
	cp internal/find/mask/gitleaks/LICENSE "$dir/licences/gitleaks-rules.txt"
	"$firn" help --man "$dir/man1" >/dev/null
	# As each shell wants its file to be called.
	"$firn" completion bash >"$dir/completions/firn.bash"
	"$firn" completion zsh >"$dir/completions/_firn"
	"$firn" completion fish >"$dir/completions/firn.fish"
	"$firn" completion powershell >"$dir/completions/firn.ps1"
}

if [ "${1:-}" = build ]; then
	build "$2" "${3:-.}"
	exit
fi

case $(tools/stamp.sh) in
"") echo "release: git does not know these sources" >&2; exit 1 ;;
*main.dirty=true*) [ -n "${DIRTY:-}" ] || { echo "release: there are changes that are not committed (DIRTY=1 releases them all the same)" >&2; exit 1; } ;;
esac
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
build "$tmp/programs"
# The pages tell the version too: they come from a program with the same stamp.
targets="$("$go" env GOHOSTOS)/$("$go" env GOHOSTARCH)" build "$tmp/host"
host=("$tmp"/host/*/firn*)
version=$("${host[0]}" version --json | sed -n 's/^  "version": "\(.*\)",$/\1/p')
time=$("${host[0]}" version --json | sed -n 's/^  "time": "\(.*\)",$/\1/p')
shared "$tmp/shared" "${host[0]}"
rm -rf dist
"$go" run ./cmd/pack -version "$version" -time "$time" -programs "$tmp/programs" -shared "$tmp/shared" -out dist
ls -l dist
