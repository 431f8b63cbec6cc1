#!/usr/bin/env bash
# Builds a release for this machine twice, compares the bytes, and tries everything in it that
# this machine can run: packages are installed into a temporary root and removed, the
# installation script and npx download from a real server, and other files are checked by
# their own tools. It lists what it could not check, and why.
#
# It works on a clone of the current commit. TARGETS lists the systems, as of tools/release.sh;
# the default is linux/amd64.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
export TARGETS=${TARGETS:-linux/amd64}
tmp=$(mktemp -d)
server=
end() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	wait
	rm -rf "$tmp"
}
trap end EXIT
fail() {
	echo "check-packages: $*" >&2
	exit 1
}
skipped=()
# have COMMAND SOURCE WHAT notes what is not checked without a command.
have() {
	command -v "$1" >/dev/null 2>&1 && return
	skipped+=("$3: $1 is not installed ($2)")
	return 1
}

git clone -q . "$tmp/sources"
cd "$tmp/sources"
ssh-keygen -q -t ed25519 -N "" -C "a key of this check" -f "$tmp/key"
for n in one two; do
	DIST="$tmp/$n" SIGNING_KEY="$tmp/key" GO="$go" tools/release.sh >/dev/null
done
diff -r "$tmp/one" "$tmp/two" || fail "two releases of the same commit differ"
dist=$tmp/one
echo "built twice: the same bytes in $(find "$dist" -type f | wc -l) files"
(cd "$dist" && sha256sum --quiet --check SHA256SUMS)

# try PROGRAM runs an installed program.
try() {
	FIRN_HOME="$tmp/home" "$@" version | grep -q '^firn v' || fail "$1 does not run"
	FIRN_HOME="$tmp/home" "$@" chat -p hello >/dev/null || fail "$1 does not answer"
	FIRN_HOME="$tmp/home" "$@" verify >/dev/null || fail "$1 does not verify what it saved"
}
# installed ROOT checks the files of a package.
installed() {
	local f
	for f in usr/bin/firn usr/share/man/man1/firn.1.gz usr/share/man/man1/firn-chat.1.gz usr/share/doc/firn/copyright \
		usr/share/bash-completion/completions/firn usr/share/fish/vendor_completions.d/firn.fish; do
		[ -e "$1/$f" ] || fail "the package has no $f"
	done
	compgen -G "$1/usr/share/zsh/*/_firn" >/dev/null || fail "the package has no completions for zsh"
	gzip -t "$1"/usr/share/man/man1/*.gz
	bash -n "$1/usr/share/bash-completion/completions/firn"
}

if [ "$(uname -sm)" = "Linux x86_64" ]; then
	if have dpkg "the package dpkg" "the deb package"; then
		root=$tmp/deb
		mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info"
		touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"
		dpkg --root="$root" --force-not-root --force-architecture --log=/dev/null -i "$dist"/firn_*_amd64.deb >/dev/null
		installed "$root"
		try "$root/usr/bin/firn"
		dpkg --root="$root" --force-not-root --log=/dev/null -r firn >/dev/null
		[ -z "$(find "$root/usr" -type f 2>/dev/null)" ] || fail "dpkg -r left files"
		echo "deb: installed, ran, removed"
	fi
	if have rpm "the package rpm" "the rpm package"; then
		root=$tmp/rpm
		mkdir -p "$root"
		rpm -K --nosignature "$dist"/firn-*.x86_64.rpm | grep -q OK || fail "rpm finds damage"
		rpm --root "$root" --dbpath /db --initdb
		rpm --root "$root" --dbpath /db --nodeps -i "$dist"/firn-*.x86_64.rpm
		installed "$root"
		try "$root/usr/bin/firn"
		rpm --root "$root" --dbpath /db -e firn
		[ -z "$(find "$root/usr" -type f 2>/dev/null)" ] || fail "rpm -e left files"
		echo "rpm: installed, ran, removed"
	fi
	mkdir "$tmp/apk"
	tar -xzf "$dist"/firn_*_x86_64.apk -C "$tmp/apk" 2>/dev/null
	installed "$tmp/apk"
	grep -q '^pkgname = firn$' "$tmp/apk/.PKGINFO" || fail "the apk package has no name"
	have apk "the package apk-tools" "the apk package is unpacked and listed, not installed" || true
fi

if have node "the package nodejs" "install.sh and npx"; then
	node tools/registry.mjs "$dist" >"$tmp/address" &
	server=$!
	for _ in $(seq 100); do
		[ ! -s "$tmp/address" ] || break
		sleep 0.1
	done
	url=$(cat "$tmp/address")
	FIRN_URL=$url PREFIX="$tmp/prefix" HOME="$tmp" sh "$dist/install.sh" >"$tmp/installed" || fail "install.sh fails"
	try "$tmp/prefix/bin/firn"
	sh "$tmp/prefix/share/firn/uninstall.sh"
	[ -z "$(find "$tmp/prefix" -type f)" ] || fail "uninstall.sh left files"
	echo "install.sh: verified, installed, ran, removed"
	if have npx "the package npm" "npx"; then
		export npm_config_registry=$url npm_config_cache="$tmp/npm" npm_config_userconfig=/dev/null npm_config_update_notifier=false npm_config_audit=false npm_config_fund=false
		mkdir -p "$tmp/npx" "$tmp/unpacked"
		(cd "$tmp/npx" && try npx --yes firn-cli)
		(cd "$tmp/npx" && ! npx --yes firn-cli show nothing 2>/dev/null) || fail "npx does not pass on exit codes"
		for package in "$dist"/firn-cli-*.tgz; do
			rm -rf "$tmp/unpacked/package"
			tar -xzf "$package" -C "$tmp/unpacked"
			(cd "$tmp/unpacked/package" && npm pack --dry-run --json >"$tmp/npm.json" 2>/dev/null) || fail "npm does not pack $package"
		done
		echo "npx: installed from a registry, ran; npm packs all packages"
	fi
	kill "$server" && wait "$server" 2>/dev/null || true
	server=
	if [ -e "$dist/firn.json" ]; then
		node -e 'JSON.parse(require("fs").readFileSync(process.argv[1]))' "$dist/firn.json"
	fi
fi

[ ! -e "$dist/firn.rb" ] || ! have ruby "the package ruby" "the Homebrew formula" || ruby -c "$dist/firn.rb" >/dev/null || fail "the Homebrew formula is not Ruby"
if have helm "see helm.sh" "the Helm chart"; then
	helm lint --strict --quiet "$dist"/firn-chart-*.tgz
	helm template firn "$dist"/firn-chart-*.tgz >/dev/null
	helm template firn "$dist"/firn-chart-*.tgz --set replicas=3,store.url=nats://n1:4222,ingress.enabled=true,ingress.host=firn.example.org >/dev/null
	! helm template firn "$dist"/firn-chart-*.tgz --set replicas=3 >/dev/null 2>&1 || fail "the chart allows several gateways without a shared store"
	echo "helm: linted and rendered"
fi
# The last stage of the image, with the program of the release in place of the first stage.
if [ -e /etc/ssl/certs/ca-certificates.crt ] && have buildah "the package buildah" "the container image"; then
	engine=(buildah --root "$tmp/engine" --runroot "$tmp/run" --storage-driver vfs)
	mkdir -p "$tmp/stage/etc/ssl/certs" "$tmp/stage/home"
	mkdir -m 700 "$tmp/stage/home/firn"
	mkdir -m 1777 "$tmp/stage/scratch"
	cp /etc/ssl/certs/ca-certificates.crt "$tmp/stage/etc/ssl/certs/"
	tar -xzf "$dist"/firn_*_linux_amd64.tar.gz -C "$tmp/stage" --strip-components=1 --wildcards 'firn_*_linux_amd64/firn'
	sed -n '/^FROM scratch/,$p' packaging/Containerfile >"$tmp/Containerfile"
	"${engine[@]}" bud --isolation chroot --format docker --build-context "build=$tmp/stage" -t firn -f "$tmp/Containerfile" "$tmp/stage" >"$tmp/image.log" 2>&1 || {
		cat "$tmp/image.log" >&2
		fail "the image cannot be built"
	}
	container=$("${engine[@]}" from firn)
	"${engine[@]}" inspect --format '{{.OCIv1.Config.User}} {{.Docker.Config.Healthcheck}}' "$container" | grep -q '^65532:65532 {\[CMD /firn ' || fail "the image has another user or no health check"
	"${engine[@]}" run --isolation chroot "$container" -- /firn chat -p hello >/dev/null || fail "the program in the image does not answer"
	"${engine[@]}" rm "$container" >/dev/null
	echo "container: the last stage was built by buildah, and ran"
fi
if have systemd-analyze "the package systemd" "the systemd unit"; then
	systemd-analyze security --offline=true --threshold=20 --no-pager packaging/firn.service | tail -1
fi
if have shellcheck "the package shellcheck" "the shell scripts"; then
	shellcheck packaging/install.sh
	shellcheck -S warning tools/*.sh .ci/run
	echo "shellcheck: no findings"
fi
for s in "${skipped[@]}"; do
	echo "not checked: $s"
done
