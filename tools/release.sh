#!/usr/bin/env bash
# Builds a release in dist/: static programs for six systems, each in an archive with its
# documents, an SBOM (CycloneDX), and checksums. The build is reproducible: the same commit
# and Go version give the same bytes.
#
#   tools/release.sh                      the complete release
#   tools/release.sh build OUT [SOURCES]  only the programs, in OUT/OS_ARCH
#
# TARGETS lists the systems as OS/ARCH.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
targets=${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}

# The programs do not depend on the place and time of the build: no paths (-trimpath), no
# C compiler (CGO_ENABLED), no build ID; version information comes only from the stamp.
# Environment variables that affect code generation are reset.
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

# shared collects the common files of all archives. The program for this machine generates
# its manual pages and completions.
shared() {
	local dir=$1 firn=$2
	mkdir -p "$dir/completions" "$dir/licences"
	cp LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md packaging/INSTALL.md packaging/firn.service "$dir/"
	# The tracked files that the README links to.
	git ls-files -z docs examples | tar --null -T - -cf - | tar -xf - -C "$dir"
	# Licenses of embedded code that is not a Go module; pack adds those of modules.
	cp packaging/licences/*.txt "$dir/licences/"
	cp internal/find/mask/gitleaks/LICENSE "$dir/licences/gitleaks-rules.txt"
	"$firn" help --man "$dir/man1" >/dev/null
	# File names that the shells expect.
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
# The manual pages contain the version, so the program has the same stamp.
targets="$("$go" env GOHOSTOS)/$("$go" env GOHOSTARCH)" build "$tmp/host"
host=("$tmp"/host/*/firn*)
version=$("${host[0]}" version --json | sed -n 's/^  "version": "\(.*\)",$/\1/p')
time=$("${host[0]}" version --json | sed -n 's/^  "time": "\(.*\)",$/\1/p')
shared "$tmp/shared" "${host[0]}"
rm -rf dist
"$go" run ./cmd/pack -version "$version" -time "$time" -programs "$tmp/programs" -shared "$tmp/shared" -out dist
ls -l dist
