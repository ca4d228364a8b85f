#!/bin/sh
# memcached.sh THREADS: a server with so many threads, and as many clients with a fixed number of
# requests.
set -eu
dir=$(mktemp -d)
memcached -u nobody -t "$1" -s "$dir/socket" -a 666 &
server=$!
chmod 755 "$dir"
trap 'kill $server; wait $server || true; rm -rf "$dir"' EXIT
until [ -S "$dir/socket" ]; do sleep 0.01; done
seq "$1" | xargs -P "$1" -I @ memcslap --servers="$dir/socket" --concurrency=4 --execute-number=$((20000 / $1)) --test=get >/dev/null
