#!/usr/bin/env bash
# Runs a program as packaging/Containerfile would, without a container engine: in a root
# with only the program, an empty volume and /tmp, as a user without a name.
# Usage: check-container.sh PROGRAM
set -euo pipefail
cd "$(dirname "$0")/.."
file=packaging/Containerfile
root=$(mktemp -d)
gateway=
end() {
	[ -z "$gateway" ] || kill "$gateway" 2>/dev/null || true
	wait
	rm -rf "$root"
}
trap end EXIT
fail() {
	echo "check-container: $*" >&2
	cat "$root/log" >&2 || true
	exit 1
}

# words INSTRUCTION prints the words of the instruction's list, one per line.
words() { sed -n "s/^$1.*\[\(.*\)\]$/\1/p" "$file" | tr ',' '\n' | sed 's/^ *"//; s/" *$//'; }
mapfile -t entry < <(words ENTRYPOINT)
mapfile -t serve < <(words CMD)
mapfile -t health < <(words HEALTHCHECK)
read -r -a variables < <(sed -n 's/^ENV //p' "$file")
volume=$(sed -n 's/^VOLUME //p' "$file")
user=$(sed -n 's/^USER //p' "$file")
[ "${#serve[@]}" -gt 0 ] && [ "${#health[@]}" -gt 0 ] || fail "the Containerfile does not say what runs"
for i in "${!serve[@]}"; do
	serve[i]=${serve[i]/:7766/:0} # any free port
done

mkdir -p "$root/tmp" "$root$volume"
chmod 1777 "$root/tmp"
chmod 755 "$root"
chmod 700 "$root$volume"
cp "$1" "$root${entry[0]}"
enter=("$(command -v chroot || echo /usr/sbin/chroot)" "--userspec=$user" "$root")
if [ "$(id -u)" -eq 0 ]; then
	chown "$user" "$root$volume"
else
	enter=("$(command -v unshare)" --user --map-root-user "$(command -v chroot || echo /usr/sbin/chroot)" "$root")
fi
inside() { env -i "${variables[@]}" "${enter[@]}" "$@"; }

inside "${health[@]}" >/dev/null 2>&1 && fail "it is healthy before it was started"
env -i "${variables[@]}" "${enter[@]}" "${entry[@]}" "${serve[@]}" >"$root/out" 2>"$root/log" &
gateway=$!
for _ in $(seq 100); do
	! inside "${health[@]}" >/dev/null 2>&1 || break
	kill -0 "$gateway" 2>/dev/null || fail "it ended"
	sleep 0.1
done
inside "${health[@]}" >/dev/null || fail "it is not healthy"
port=$(sed -n 's/.*"tcp":"[^"]*:\([0-9]*\)".*/\1/p' "$root/log" | head -1)
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
grep -q '"ready"' <&3 || fail "it is not ready"
exec 3>&-
inside "${entry[@]}" chat -p hello >/dev/null || fail "nobody answers"
kill -TERM "$gateway"
wait "$gateway" || fail "it ended with $?"
gateway=
inside "${entry[@]}" verify >/dev/null || fail "what was said is not whole"
echo "runs alone in an empty root: healthy, ready, answers, ends"
