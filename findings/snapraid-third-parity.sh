#!/usr/bin/env bash
# Tool      SnapRAID 12.2 (Debian bookworm, 12.2-1), 3-parity and z-parity
# Guess     The third parity goes on as the first two do: their rows are 1 and 2^J, so it is 4^J, as in ISA-L and in wane's `pqr`.
# Seen      With a byte of 1 at another place of each of four disks, parities show their rows: 01 01 01 01, 01 02 04 08, and then 01 f5 d2 c4,
#           a row of a Cauchy matrix; with z-parity in place of 3-parity 01 8e 47 ad, the powers of 1/2.
# Matters   Two parities can be checked and solved by any tool of the kind, three by none but its own.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm snapraid=12.2-1
# rows NAME: the parities of four disks, the third one called NAME.
rows() {
    rm -rf "$TEMP/array"
    mkdir -p "$TEMP"/array/{1,2,3,4,parity}
    cd "$TEMP/array"
    for disk in 1 2 3 4; do python3 -c "open('$disk/file', 'wb').write(bytes(at == $disk for at in range(16)))"; done
    {
        printf '%s\n' 'block_size 1' "parity $PWD/parity/1" "2-parity $PWD/parity/2" "$1 $PWD/parity/3" "content $PWD/content" "content $PWD/parity/content"
        printf "data d%d $PWD/%d\n" 1 1 2 2 3 3 4 4
    } >conf
    tool snapraid -c conf --test-skip-device sync >log 2>&1
    python3 -c 'print(*(open(f"parity/{number}", "rb").read()[1:5].hex() for number in (1, 2, 3)))'
}
expect 'three parities' "$(rows 3-parity)" '01010101 01020408 01f5d2c4'
expect 'with z-parity' "$(rows z-parity)" '01010101 01020408 018e47ad'
