#!/usr/bin/env bash
# Library   ISA-L 2.30.0 (Debian bookworm, libisal2 2.30.0-5), gf_gen_rs_matrix with four parities
# Guess     A Reed-Solomon code with four parities stands any four losses, for any number of data chunks up to 251.
# Seen      The rows of parity are 1, 2^J, 4^J and 8^J. Up to 21 data chunks any four may be lost; of 22 two losses cannot be solved: chunks
#           0, 11 and 21 with the second parity, and 0, 10 and 21 with the third. With three parities, the rows of wane's `pqr`, any three
#           of 60 may. gf_gen_cauchy1_matrix has no such limit.
# Matters   RAID-like codes of that many parities need their matrix checked, not their name.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm libisal2=2.30.0-5
cat >"$TEMP/losses.py" <<'PYTHON'
"""Losses of as many chunks as there are parities that cannot be solved: losses.py LIBRARY MATRIX DATA PARITIES."""

import ctypes
import itertools
import sys

library, name, data, parities = ctypes.CDLL(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
made = (ctypes.c_ubyte * ((data + parities) * data))()
getattr(library, name)(made, data + parities, data)
rows = [made[data * row : data * (row + 1)] for row in range(data, data + parities)]
for lost in range(1, parities + 1):
    for left in itertools.combinations(range(parities), lost):
        for chunks in itertools.combinations(range(data), lost):
            square = (ctypes.c_ubyte * lost**2)(*(rows[row][chunk] for row in left for chunk in chunks))
            if library.gf_invert_matrix(square, (ctypes.c_ubyte * lost**2)(), lost):
                print(*chunks, "and", *(f"P{row}" for row in range(parities) if row not in left), end="; ")
PYTHON
unsolved() { python3 "$TEMP/losses.py" "$(find "$ROOT" -name libisal.so.2)" "$@"; }
expect 'four parities, 21 data chunks' "$(unsolved gf_gen_rs_matrix 21 4)" ''
expect 'four parities, 22 data chunks' "$(unsolved gf_gen_rs_matrix 22 4)" '0 10 21 and P2; 0 11 21 and P1; '
expect 'three parities, 60 data chunks' "$(unsolved gf_gen_rs_matrix 60 3)" ''
expect "Cauchy's matrix, 22 data chunks" "$(unsolved gf_gen_cauchy1_matrix 22 4)" ''
