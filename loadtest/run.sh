#!/usr/bin/env bash
# Runs the k6 scripts against a server that it starts, on a private MariaDB and Redis
# if they are installed and on embedded stores otherwise, prints a table and leaves a
# report with the same in loadtest/report/, where the last five are kept. The exit code
# is 0 only if every scenario has passed. The first run compiles k6, which takes minutes.
#
#   loadtest/run.sh                          smoke ramp spike soldout taps pay
#   SCENARIO="spike soak" loadtest/run.sh    only these; soak takes 30 minutes (SOAK=2m for less)
#   PEAK=3000 TIME=2 loadtest/run.sh         taps a second at the peak; everything twice as long
#   PATIENCE=5 loadtest/run.sh               a busy machine: answers take five times as long, k6 drops more
#   EMBEDDED=1 loadtest/run.sh               on embedded stores, whatever is installed
#
# SETTINGS="SECKILL_ORDER__PURCHASE_TOKEN=required SECKILL_ORDER__MODE=queue" are the server's own.
# K6_WEB_DASHBOARD_PORT=5665 serves the charts while they grow.
#
# A server of your own: SECKILL_URL, ADMIN_TOKEN and TOKENS (a file with a token a
# line, made by seckill token --users 1-20000), and METRICS for soak's eye. REPORTS is
# another folder for the reports.
set -uo pipefail
cd "$(dirname "$0")/.."
scenarios=${SCENARIO:-smoke ramp spike soldout taps pay}
for name in $scenarios; do
	[[ $name != shop && -f loadtest/$name.js ]] || { echo "there is no scenario $name" >&2; exit 2; }
done
folder=$(mktemp -d)
server=
stop() {
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
	rm -rf "$folder"
}
trap stop EXIT
k6=$(.ci/k6) && go build -o "$folder/k6report" ./internal/testing/bench/cmd/k6report || exit 2

touch "$folder/env"
if [ -z "${SECKILL_URL:-}" ]; then
	go build -tags nomsgpack -o "$folder/benchserver" ./internal/testing/bench/cmd/benchserver || exit 2
	# shellcheck disable=SC2086 # a word a setting
	"$folder/benchserver" -users "${USERS:-20000}" ${EMBEDDED:+-embedded} ${SETTINGS:-} >"$folder/env" &
	server=$!
	until grep -q '^#' "$folder/env"; do
		kill -0 "$server" 2>/dev/null || { echo "the server did not start" >&2; exit 2; }
		sleep 0.1
	done
	stores=$(sed -n 's/^# on //p' "$folder/env")
	echo "server: on $stores"
	set -a
	# shellcheck disable=SC1091
	. "$folder/env"
	set +a
else
	: "${ADMIN_TOKEN:?is needed beside SECKILL_URL}" "${TOKENS:?is needed beside SECKILL_URL}"
	TOKENS=$(realpath "$TOKENS")
	export SECKILL_URL ADMIN_TOKEN TOKENS
	stores="the server at $SECKILL_URL"
fi

reports=${REPORTS:-loadtest/report}
run=$reports/$(date -u +%Y-%m-%dT%H-%M-%SZ)
mkdir -p "$run"
codes=()
for name in $scenarios; do
	echo "== $name"
	K6_WEB_DASHBOARD=true K6_WEB_DASHBOARD_PERIOD=1s K6_WEB_DASHBOARD_PORT=${K6_WEB_DASHBOARD_PORT:--1} \
		K6_WEB_DASHBOARD_EXPORT=$run/$name.html K6_NO_USAGE_REPORT=true \
		"$k6" run --quiet --no-color --summary-trend-stats "med,p(95),p(99),max" --summary-export "$run/$name.json" \
		"loadtest/$name.js" >"$run/$name.txt" 2>&1
	codes+=("$name=$?")
done
# A secret among the server's settings is named without its value.
settings="PEAK=${PEAK:-1000} TIME=${TIME:-1} PATIENCE=${PATIENCE:-1}${SOAK:+ SOAK=$SOAK}"
for setting in ${SETTINGS:-}; do
	[[ $setting =~ ^[A-Z_]*(SECRET|PASSWORD|DSN|KEY)[A-Z_]*= ]] && setting=${setting%%=*}=…
	settings+=" $setting"
done
"$folder/k6report" -run "$run" -on "$stores" -revision "$(git rev-parse --short HEAD 2>/dev/null)" \
	-settings "$settings" "${codes[@]}"
worst=$?
echo "report: $reports/index.html"
exit $worst
