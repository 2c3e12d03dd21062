#!/usr/bin/env bash
# Tool      lifelines 0.30.3 (PyPI), NelsonAalenFitter
# Guess     The Nelson-Aalen estimate at a day on which 25 of 100 drives fail is 25/100.
# Seen      By default it is 1/100 + 1/99 + ... + 1/76 = 0.286: failures of one day are taken one after the other. Four such days end at
#           5.19 instead of 2.08. Only `nelson_aalen_smoothing=False` gives the textbook's sum.
# Matters   Drives' records are daily, so that ties are the rule. Where few drives are left, as at the end of a fleet's life, a cumulative
#           hazard that lifelines gives by default is far above wane's, which asks for the sum without smoothing.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

python3 -m venv "$TEMP/venv"
"$TEMP/venv/bin/pip" -q --disable-pip-version-check install lifelines==0.30.3
hazard() {
    "$TEMP/venv/bin/python" -W ignore -c '
import sys
from lifelines import NelsonAalenFitter
fitter = NelsonAalenFitter(**({"nelson_aalen_smoothing": False} if sys.argv[1] == "plain" else {}))
hazards = fitter.fit([day for day in (1, 2, 3, 4) for _ in range(25)]).cumulative_hazard_.iloc[:, 0]
print(*(f"{hazard:.3f}" for hazard in hazards))' "$1"
}
expect 'by default' "$(hazard default)" '0.000 0.286 0.688 1.371 5.187'
expect 'without smoothing' "$(hazard plain)" '0.000 0.250 0.583 1.083 2.083'
