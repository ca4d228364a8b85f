#!/usr/bin/env bash
# Installs the missing Debian packages of the given groups of tools/packages. Asks for nothing and
# changes nothing if none is missing. Exit status 2 if they cannot be installed.
set -euo pipefail

cd "$(dirname "$0")"
me=install-deps

# Rows of the table. The packages of the exam are those of its registry.
rows() {
    grep -v '^#' packages
    grep '^package' ../crates/predict/exam/programs.toml | grep -o '"[^"]*"' | tr -d '"' | sort -u |
        sed 's|.*|exam & /usr/share/doc/& has a command of the exam of predictions, or runs one|'
}

if [[ $# -eq 0 ]]; then
    echo "usage: tools/install-deps.sh GROUP..., where GROUP is one of:" \
        "$(rows | awk '{print $1}' | sort -u | paste -sd ' ')" >&2
    exit 2
fi

# Checks for a command on the PATH, or for a file whose path may hold a wildcard.
is_there() {
    case $1 in
        /*) compgen -G "$1" >/dev/null ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

missing=()
for wanted in "$@"; do
    known=no
    while read -r group package sign why; do
        [[ $group == "$wanted" ]] || continue
        known=yes
        if ! is_there "$sign" && [[ " ${missing[*]} " != *" $package "* ]]; then
            missing+=("$package")
            echo "$me: $package is missing: $why"
        fi
    done < <(rows)
    if [[ $known == no ]]; then
        echo "$me: there is no group '$wanted' in tools/packages" >&2
        exit 2
    fi
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "$me: this is not a Debian system; install what Debian calls: ${missing[*]}" >&2
    exit 2
fi
as_root=()
if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
        echo "$me: installing needs root and there is no sudo; as root, run: apt-get install ${missing[*]}" >&2
        exit 2
    fi
    # Without a terminal nobody can type a password, and sudo must not wait for one.
    if [[ ! -t 0 ]] && ! sudo -n true 2>/dev/null; then
        echo "$me: sudo wants a password and there is no terminal; as root, run: apt-get install ${missing[*]}" >&2
        exit 2
    fi
    as_root=(sudo)
fi

echo "$me: installing ${missing[*]}${as_root[*]:+ through sudo}"
# The variables go through `env` because sudo drops them. Without a network the command fails within
# a minute.
apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 \
        -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 "$@"
}
if ! { apt update && apt install --yes --no-install-recommends "${missing[@]}" >/dev/null; }; then
    echo "$me: apt-get failed; its lines above say why. The packages are: ${missing[*]}" >&2
    exit 2
fi
