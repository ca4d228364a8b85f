#!/bin/sh
# redis.sh CLIENT_THREADS IO_THREADS: a server, and a fixed number of requests by its own benchmark.
set -eu
dir=$(mktemp -d)
redis-server --port 0 --unixsocket "$dir/socket" --save '' --dir "$dir" --io-threads "$2" >/dev/null &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$dir"' EXIT
until redis-cli -s "$dir/socket" ping >/dev/null 2>&1; do sleep 0.01; done
redis-benchmark -s "$dir/socket" -n 100000 -c 32 --threads "$1" -t set -d 256 -q >/dev/null
