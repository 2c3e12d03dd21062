#!/usr/bin/env bash
# Tools     prometheus-node-exporter-collectors (Debian bookworm, 0.0~git20230203.6f710f8-1+deb12u2), nvme_metrics.sh, with nvme-cli 2.3
# Guess     nvme_controller_busy_time_seconds is the busy time in seconds, as the base unit in its name says.
# Seen      It is the log's counter, which is in minutes, unconverted: an hour is 60. Of the same script, the spare and the percentage
#           used are converted to ratios and the temperature to degrees Celsius, and data units stay units of 512,000 bytes.
# Matters   The busy share of a drive by this metric is a sixtieth of the true one, and a drive that is always busy seems idle.
set -euo pipefail
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT
source "$(dirname "$0")/lib/common.bash"

unpack bookworm nvme-cli=2.4+really2.3-3 prometheus-node-exporter-collectors=0.0~git20230203.6f710f8-1+deb12u2 jq
drive
python3 "$LIB/pages.py" nvme "$PAGES" busy=60
# The collector finds drives by `nvme list`, which needs the kernel's: it is answered here, and all else by nvme-cli itself.
mkdir "$TEMP/bin"
cat >"$TEMP/bin/nvme" <<NVME
#!/usr/bin/env bash
$(declare -f tool)
ROOT=$ROOT PRELOAD=$PRELOAD
case \$1 in
    list) echo '{"Devices": [{"DevicePath": "/dev/null"}]}' ;;
    *) tool nvme "\$@" ;;
esac
NVME
cat >"$TEMP/bin/jq" <<JQ
#!/usr/bin/env bash
$(declare -f tool)
ROOT=$ROOT PRELOAD=
tool jq "\$@"
JQ
chmod +x "$TEMP/bin/nvme" "$TEMP/bin/jq"
script=$ROOT/usr/share/prometheus-node-exporter-collectors/nvme_metrics.sh
[ "$(id -u)" = 0 ] || { echo "not run: nvme_metrics.sh runs only as root"; exit 2; }
PATH="$TEMP/bin:$PATH" bash "$script" >"$TEMP/metrics"
metric() { awk -v name="nvme_$1" 'index($1, name "{") == 1 { print $2 }' "$TEMP/metrics"; }
expect 'an hour busy' "$(metric controller_busy_time_seconds)" 60
expect 'ratio used, Celsius, data units' "$(metric percentage_used_ratio) $(metric temperature_celsius) $(metric data_units_written_total)" \
    '0.12 40 20000000'
