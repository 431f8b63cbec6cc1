#!/usr/bin/env bash
# Runs the complete test command N times in a row and lists the tests that failed in some
# of the runs.
#
#   tools/flakes.sh N [--load K] [--race] [--out DIR] [-- COMMAND…]
#
#   --load K   with K busy processes, as on a shared machine
#   --race     the race detector's run (make check-race) instead of make test
#   --out DIR  directory for the output of each run; default: a new one below /tmp
#   COMMAND    the command to run instead, e.g. go test -count=1 ./agent
#
# Prints for each failed test the number of failed runs and the log of the first one, then
# the longest time of each package. Exits with 1 if a run failed. Ctrl-C stops all
# processes that it started.
set -uo pipefail

usage() {
	sed -n '5,10s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

runs=${1:-}
[[ $runs =~ ^[1-9][0-9]*$ ]] || usage
shift
load=0 target=test out=''
command=()
while [ $# -gt 0 ]; do
	case $1 in
	--load) load=${2:-} && shift && { [[ $load =~ ^[0-9]+$ ]] || usage; } ;;
	--race) target=check-race ;;
	--out) out=${2:-} && shift ;;
	--) shift && command=("$@") && break ;;
	*) usage ;;
	esac
	shift
done
if [ ${#command[@]} -eq 0 ]; then
	cd "$(dirname "$0")/.." || exit 2
	# -count=1 disables the test cache, but not the build cache.
	command=(make --no-print-directory "$target" "TESTFLAGS=-count=1 -vet=off -ldflags=-w ${TESTFLAGS:-}")
fi
out=${out:-$(mktemp -d "${TMPDIR:-/tmp}/flakes.XXXXXX")}
mkdir -p "$out" || exit 2

# descendants prints the descendants of a process.
descendants() {
	local child
	for child in $(ps -eo pid=,ppid= | awk -v parent="$1" '$2 == parent { print $1 }'); do
		echo "$child"
		descendants "$child"
	done
}

# stop kills all processes that this script started. They are listed before the first one
# is killed, since children of a dead process cannot be found.
stop() {
	local all
	all=$(descendants $$)
	[ -z "$all" ] || kill -KILL $all 2>/dev/null
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Each job gets its own process group: Ctrl-C reaches only this script, which can then
# still find the processes of the tests.
set -m
for ((i = 0; i < load; i++)); do
	# A busy process ends with this script, even if that is killed.
	(while kill -0 $$ 2>/dev/null; do for ((n = 0; n < 200000; n++)); do :; done; done) &
done

# failures prints "package test" for each failed test of a log. Tests that ran at a timeout
# count as failed, and so do failed packages without a failed test.
failures() {
	awk '
		/^ *--- FAIL: / { failed[$3] = 1 }
		/^panic: test timed out/ { late = 1 }
		late && /^\t\t[A-Z][^ ]* \([0-9.hms]+\)$/ { failed[$1] = 1 }
		/^(FAIL|ok  )\t/ {
			if ($1 == "FAIL") {
				for (test in failed) { print $2, test; named = 1 }
				if (!named) print $2, "(no test named)"
			}
			split("", failed); late = 0; named = 0
		}
	' "$1" | sort -u
}

broken=0
for ((run = 1; run <= runs; run++)); do
	log=$out/run-$run.log
	began=$SECONDS
	"${command[@]}" >"$log" 2>&1 </dev/null &
	wait $!
	code=$?
	failures "$log" >"$out/run-$run.failed"
	if [ "$code" -eq 0 ]; then
		echo "run $run of $runs: passed in $((SECONDS - began)) s"
		continue
	fi
	broken=$((broken + 1))
	[ -s "$out/run-$run.failed" ] || echo "${command[0]} (no package named)" >"$out/run-$run.failed"
	echo "run $run of $runs: FAILED in $((SECONDS - began)) s, see $log"
	sed 's/^/    /' "$out/run-$run.failed"
done

echo
echo "longest time of each package, in seconds:"
cat "$out"/run-*.log | awk '
	/^(FAIL|ok  )\t/ && $3 ~ /^[0-9.]+s$/ { if ($3 + 0 > longest[$2]) longest[$2] = $3 + 0 }
	END { for (p in longest) printf "%9.1f  %s\n", longest[p], p }
' | sort -rn
echo
if [ "$broken" -eq 0 ]; then
	echo "all $runs runs passed; logs in $out"
	exit 0
fi
echo "$broken of $runs runs failed; failed tests:"
sort "$out"/run-*.failed | uniq -c | sort -rn | while read -r count name; do
	first=$(cd "$out" && grep -lxF "$name" run-*.failed | sort -V | head -1)
	echo "  $count of $runs  $name  $out/${first%.failed}.log"
done
exit 1
