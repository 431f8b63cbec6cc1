#!/usr/bin/env bash
# Tries an upgrade and a downgrade with real data: builds an older commit and the current one,
# writes a home with the old program, continues with the new one, goes back to the old one, and
# forward again. After every step each transcript must begin with the bytes that it had before,
# every message that was sent must be shown, and firn verify must pass.
#
#   tools/upgrade.sh COMMIT      (make upgrade FROM=COMMIT)
#
# KEEP=1 keeps the directory with both programs and the home.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
from=${1:?usage: tools/upgrade.sh COMMIT}
from=$(git rev-parse --verify --short "$from^{commit}")
tmp=$(mktemp -d)
[ -n "${KEEP:-}" ] || trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/user" "$tmp/old-sources" "$tmp/work"
failed=0
note() { echo "$*"; }
bad() {
	echo "FAULT: $*"
	failed=1
}

note "build $from and the current sources"
git archive "$from" | tar -xf - -C "$tmp/old-sources"
(cd "$tmp/old-sources" && CGO_ENABLED=0 "$go" build -trimpath -buildvcs=false -o "$tmp/old" ./cmd/firn)
CGO_ENABLED=0 "$go" build -trimpath -buildvcs=false -o "$tmp/new" ./cmd/firn
export FIRN_HOME=$tmp/home FIRN_MODEL=firn/offline HOME=$tmp/user NO_COLOR=1

# transcripts lists all transcripts of the home.
transcripts() { find "$FIRN_HOME" -path "$FIRN_HOME/index" -prune -o -path "$FIRN_HOME/commit" -prune -o -name '*.jsonl' -print | sort; }

# save copies all transcripts; same_prefix compares them with their beginnings now.
save() {
	rm -rf "$tmp/before"
	transcripts | while read -r f; do
		mkdir -p "$tmp/before/$(dirname "${f#"$FIRN_HOME"/}")"
		cp "$f" "$tmp/before/${f#"$FIRN_HOME"/}"
	done
}
same_prefix() {
	local n=0 f now
	while read -r f; do
		now=$FIRN_HOME/${f#"$tmp/before/"}
		n=$((n + 1))
		if [ ! -e "$now" ]; then
			bad "$1: ${f#"$tmp/before/"} is gone"
		elif ! cmp -s -n "$(stat -c %s "$f")" "$f" "$now"; then
			bad "$1: ${f#"$tmp/before/"} was rewritten"
		fi
	done < <(find "$tmp/before" -name '*.jsonl' | sort)
	note "  $n transcripts begin as before"
}

# maybe runs a command that an older program may not have.
maybe() {
	local out
	if ! out=$("$@" 2>&1 </dev/null); then
		note "  not done by $(basename "$1"): ${*:2}: $(head -n 1 <<<"$out")"
	fi
}
# must runs a command that has to succeed.
must() {
	local out
	if ! out=$("$@" 2>&1 </dev/null); then
		bad "$(basename "$1") ${*:2}: $( (grep -A 1 "^fault" <<<"$out" || head -n 2 <<<"$out") | head -n 6 | tr "\n" " ")"
	fi
}

said=()
# talk PROGRAM STEP sends messages to the same three sessions, and changes them.
talk() {
	local firn=$1 step=$2 key
	for key in alpha beta gamma; do
		must "$firn" chat -p --key "agent:main:$key" "The $key word of $step is ${step}-$key-harbor."
		said+=("$step-$key-harbor")
	done
	maybe "$firn" rename @agent:main:alpha "alpha after $step"
	maybe "$firn" tag @agent:main:alpha "+$step"
	maybe "$firn" append @agent:main:beta --user "An appended line: $step-appended-harbor."
	maybe "$firn" compact @agent:main:gamma --keep-recent 20
	maybe "$firn" fork @agent:main:beta
	maybe "$firn" memory add "The note of $step is about a harbor."
	maybe "$firn" keys reset @agent:main:alpha
	maybe "$firn" search harbor
}

# check PROGRAM STEP reads everything back.
check() {
	local firn=$1 step=$2 word text
	must "$firn" ls
	must "$firn" verify
	text=$("$firn" grep harbor 2>/dev/null || true)
	if [ -z "$text" ]; then # before firn grep existed
		text=$(transcripts | xargs cat)
	fi
	for word in "${said[@]}"; do
		grep -q -- "$word" <<<"$text" || bad "$step: $word is not shown"
	done
	for key in alpha beta gamma; do
		must "$firn" cat "@agent:main:$key"
		must "$firn" window "@agent:main:$key"
	done
	note "  ${#said[@]} messages are shown, $(transcripts | wc -l) transcripts verified"
}

cd "$tmp/work"
note "1. write with $from"
talk "$tmp/old" first
check "$tmp/old" "1 (old)"
save
note "2. open and continue with the current program"
check "$tmp/new" "2 (new)"
same_prefix "2, after reading"
talk "$tmp/new" second
check "$tmp/new" "2 (new)"
same_prefix "2 (new)"
must "$tmp/new" doctor
save
note "3. go back to $from"
check "$tmp/old" "3 (old)"
same_prefix "3, after reading"
talk "$tmp/old" third
check "$tmp/old" "3 (old)"
same_prefix "3 (old)"
save
note "4. and forward again"
check "$tmp/new" "4 (new)"
talk "$tmp/new" fourth
check "$tmp/new" "4 (new)"
same_prefix "4 (new)"
must "$tmp/new" doctor
[ "$failed" -eq 0 ] || { echo "upgrade from $from: faults were found"; exit 1; }
echo "upgrade from $from and back: no faults"
