#!/bin/sh
# postgres.sh CLIENTS select|update: a database in memory, and a fixed number of transactions by pgbench.
# The database is made on the first call. PostgreSQL refuses to run as root.
set -eu
export LC_ALL=C PATH="$(echo /usr/lib/postgresql/*/bin):$PATH"
if [ "$(id -u)" = 0 ]; then
    as_user="setpriv --reuid nobody --regid nogroup --clear-groups"
else
    as_user=
fi
dir=$PWD/postgres
if [ ! -d "$dir" ]; then
    mkdir "$dir"
    if [ "$as_user" ]; then chown nobody "$dir"; fi
    $as_user initdb -D "$dir/data" -A trust -U exam >/dev/null
    made=no
fi
server() { $as_user pg_ctl -w -s -D "$dir/data" -l "$dir/log" -o "-k $dir -c listen_addresses= -c fsync=off" "$@"; }
server start
trap 'server stop -m immediate' EXIT
[ "${made-yes}" = yes ] || pgbench -h "$dir" -U exam -i -q -s 3 postgres >/dev/null 2>&1
case $2 in
    select) pgbench -h "$dir" -U exam -n -S -c "$1" -j "$1" -t $((16000 / $1)) postgres >/dev/null ;;
    update) pgbench -h "$dir" -U exam -n -c "$1" -j "$1" -t $((4000 / $1)) postgres >/dev/null ;;
esac
