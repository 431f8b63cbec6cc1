#!/usr/bin/env bash
# Builds a release in dist/: static programs for six systems, each in an archive with its
# documents, and an SBOM (CycloneDX); packages (deb, rpm, apk, npm), a Homebrew formula, a
# Scoop manifest, a Helm chart, an installation script, and signed checksums of all files.
# The build is reproducible: the same commit, Go version and variables give the same bytes.
#
#   tools/release.sh                      the complete release
#   tools/release.sh build OUT [SOURCES]  only the programs, in OUT/OS_ARCH
#
#   TARGETS      the systems as OS/ARCH
#   DIST         the directory of the release, dist
#   RELEASE_URL  the address that its files will have
#   SIGNING_KEY  the file of the publisher's SSH key (ed25519), or of its public half if an
#                agent has the key; without it the checksums are not signed
#   MAINTAINER   the maintainer that packages name
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
	mkdir -p "$dir/skill/firn"
	"$firn" help --skill >"$dir/skill/firn/SKILL.md"
	"$firn" help --agents >"$dir/skill/AGENTS.md"
}

if [ "${1:-}" = build ]; then
	build "$2" "${3:-.}"
	exit
fi

case $(tools/stamp.sh) in
"") echo "release: git does not know these sources" >&2; exit 1 ;;
*main.dirty=true*) [ -n "${DIRTY:-}" ] || { echo "release: there are changes that are not committed (DIRTY=1 releases them all the same)" >&2; exit 1; } ;;
esac
dist=${DIST:-dist}
key=
if [ -n "${SIGNING_KEY:-}" ]; then
	# The public half, without its comment.
	key=$(if [ -e "${SIGNING_KEY%.pub}.pub" ]; then cat "${SIGNING_KEY%.pub}.pub"; else ssh-keygen -y -f "$SIGNING_KEY"; fi | cut -d ' ' -f 1-2)
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
build "$tmp/programs"
# The manual pages contain the version, so the program has the same stamp.
targets="$("$go" env GOHOSTOS)/$("$go" env GOHOSTARCH)" build "$tmp/host"
host=("$tmp"/host/*/firn*)
version=$("${host[0]}" version --json | sed -n 's/^  "version": "\(.*\)",$/\1/p')
time=$("${host[0]}" version --json | sed -n 's/^  "time": "\(.*\)",$/\1/p')
shared "$tmp/shared" "${host[0]}"
rm -rf "$dist"
"$go" run ./cmd/pack -version "$version" -time "$time" -programs "$tmp/programs" -shared "$tmp/shared" -out "$dist" \
	-url "${RELEASE_URL:-https://firn.dev/releases/$version}" -key "$key"
GO="$go" tools/packages.sh "$dist" "$version" "$time"
"$go" run ./cmd/pack -sums "$dist"
if [ -n "${SIGNING_KEY:-}" ]; then
	ssh-keygen -q -Y sign -f "$SIGNING_KEY" -n firn-release "$dist/SHA256SUMS"
else
	echo "release: SHA256SUMS is not signed, because SIGNING_KEY is not set" >&2
fi
ls -l "$dist"
