#!/bin/sh
# Fuzzes one target: tools/fuzz.sh GO TARGET DIRECTORY TIME. GO may be several words.
#
# Before Go 1.27 a target whose time is up can be called failed, though no input
# failed (go.dev/issue/75804). It says "context deadline exceeded" then, right below
# the target's name, where a real failure names the input; only that is passed over.
set -eu
go=$1 target=$2 dir=$3 time=$4

log=$(mktemp)
trap 'rm -f "$log"' EXIT

echo "$go test -run ^\$ -fuzz ^$target\$ -fuzztime $time $dir"
exec 4>&1
failed=$({ { $go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir" 2>&1 || echo "$?" >&3; } | tee "$log" >&4; } 3>&1)

[ -n "$failed" ] || exit 0
if awk -v failed="--- FAIL: $target (" '
	index(before, failed) == 1 && $0 == "    context deadline exceeded" { late = NR }
	late && NR == late + 1 && $0 != "FAIL" { late = 0 }
	/Failing input written|^panic:|^fatal error:/ { found = 1 }
	{ before = $0 }
	END { exit !late || found }' "$log"; then
	echo "fuzz.sh: the time of $target was up; no input failed (go.dev/issue/75804)"
	exit 0
fi
exit "$failed"
