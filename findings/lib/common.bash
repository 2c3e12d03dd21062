# shellcheck shell=bash
# What the findings share: pinned packages unpacked below the temporary folder $TEMP, and one way to hold an expectation.
# Each finding makes the folder, removes it at its end, and sources this file. It needs bash, apt-get, dpkg, python3 and, for the stand-in of a drive, cc; no root.

LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$TEMP/root
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1

# expect WHAT SEEN WANTED: the behavior that the finding describes. Another one ends the script with 1.
expect() {
    if [ "$2" != "$3" ]; then
        printf 'CHANGED  %s\n  seen    %s\n  wanted  %s\n' "$1" "$2" "$3"
        exit 1
    fi
    printf 'PASS  %s: %s\n' "$1" "$2"
}

# unpack SUITE PACKAGE=VERSION...: unpacks packages of a Debian suite below $ROOT, with the libraries that they depend on, down to the
# C library, so that a tool of a newer suite runs on an older system. The system's own packages and lists stay as they are.
unpack() {
    local suite=$1 apt=$TEMP/apt libraries
    shift
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$apt/debs" "$ROOT"
    : >"$apt/status"
    echo "deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$apt/list"
    local options=(-qq -o Dir::State="$apt/state" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache"
        -o Dir::Etc::sourcelist="$apt/list" -o Dir::Etc::sourceparts=/dev/null -o Acquire::Languages=none
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o APT::Sandbox::User="$(id -un)")
    apt-get "${options[@]}" update
    libraries=$(apt-get "${options[@]}" -s --no-install-recommends install "$@" |
        awk '$1 == "Inst" && $2 ~ /^(lib|zlib)/ && $2 !~ /^(libperl|libpython|libpam|libapt|libdb)/ { print $2 }') || {
        echo "not run: $suite no longer has $*"
        exit 2
    }
    # shellcheck disable=SC2086
    (cd "$apt/debs" && apt-get "${options[@]}" download "$@" $libraries)
    for deb in "$apt"/debs/*.deb; do dpkg -x "$deb" "$ROOT"; done
}

# tool NAME ARGUMENT...: runs an unpacked program with the libraries that were unpacked with it; $PRELOAD goes before these.
tool() {
    local libraries=$ROOT/usr/lib/x86_64-linux-gnu program loader
    program=$(find "$ROOT" -path "*bin/$1" -print -quit)
    loader=$(find "$ROOT" -name ld-linux-x86-64.so.2 -print -quit)
    shift
    "$loader" ${PRELOAD:+--preload "$PRELOAD"} \
        --library-path "$libraries:$libraries/ceph:$ROOT/lib/x86_64-linux-gnu" "$program" "$@"
}

# drive: builds the stand-in for a drive's answers, and makes `tool` run with it. Pages are then those in $PAGES.
drive() {
    export PAGES=$TEMP/pages
    mkdir -p "$PAGES"
    cc -O1 -shared -fPIC -o "$TEMP/drive.so" "$LIB/drive.c"
    PRELOAD=$TEMP/drive.so
}

# served MIB COMMAND...: runs a command while nbdkit of $ROOT serves so much memory at $URI, and logs in $TEMP/log what it was asked to do. $ENDED is
# how the command ended. The script's trap ends $SERVER.
served() {
    local tries=0 mebibytes=$1
    shift
    rm -f "$TEMP/log" "$TEMP/socket" "$TEMP/pid"
    URI="nbd+unix:///?socket=$TEMP/socket"
    ENDED=0
    tool nbdkit -f -U "$TEMP/socket" -P "$TEMP/pid" --filter="$(find "$ROOT" -name nbdkit-log-filter.so)" \
        "$(find "$ROOT" -name nbdkit-memory-plugin.so)" size="${mebibytes}M" logfile="$TEMP/log" &
    until [ -s "$TEMP/pid" ] || [ $((tries += 1)) -gt 200 ]; do sleep 0.05; done
    SERVER=$(cat "$TEMP/pid")
    "$@" || ENDED=$?
    kill "$SERVER"
    wait || true
    SERVER=
}
