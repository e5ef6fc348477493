#!/bin/sh
# The tour of the benchmark ("shmrun bench all") on a machine with a core per rank:
# a static shmrun goes there and runs, its rows and its report come back.
#
#   tools/tour.sh                       here
#   tools/tour.sh [USER@]HOST [FLAGS…]  on HOST, by ssh
#   tools/tour.sh . [FLAGS…]            here, with flags of "shmrun bench all"
#
# Writes NAME-tour.json and NAME-tour.html into the current directory, NAME being
# the host's. SSH may name another program that takes a host and a command.
# Nothing stays on the host.
set -eu

host=${1:-.}
[ $# -eq 0 ] || shift
case $host in
-*)
	echo "tour.sh: the first argument is a host, or . for this machine; flags come after it" >&2
	exit 2
	;;
esac
ssh=${SSH:-ssh}
if [ "$host" = . ]; then
	there() { sh -c "$1"; }
else
	there() { $ssh "$host" "$1"; }
fi

case $(there 'uname -sm') in
"Linux x86_64") arch=amd64 ;;
"Linux aarch64") arch=arm64 ;;
*)
	echo "tour.sh: $host is neither Linux on x86_64 nor on aarch64, or cannot be reached" >&2
	exit 1
	;;
esac

# Quotes what a shell over there will read.
quoted() { for word; do printf " '%s'" "$(printf %s "$word" | sed "s/'/'\\\\''/g")"; done; }

here=$(pwd)
bin=$(mktemp -d)
dir=
cleanup() {
	rm -rf "$bin"
	[ -z "$dir" ] || there "rm -rf $dir"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

cd "$(dirname "$0")/.."
GOARCH=$arch ${MAKE:-make} --no-print-directory static STATIC="$bin"
dir=$(there 'mktemp -d "${TMPDIR:-/tmp}/symwin-tour.XXXXXX"')
name=$(there 'uname -n')
there "cat > $dir/shmrun && chmod +x $dir/shmrun" <"$bin/shmrun"

# A row that failed does not keep the others from home.
result=0
there "cd $dir && ./shmrun bench all --out tour.json --report tour.html$(quoted "$@")" || result=$?
for kind in json html; do
	if there "test -s $dir/tour.$kind"; then
		there "cat $dir/tour.$kind" >"$here/$name-tour.$kind"
		echo "$name-tour.$kind"
	fi
done
exit $result
