#!/usr/bin/env bash
# Runs the k6 scripts against a server that it starts, on a private MariaDB and Redis
# if they are installed and on embedded stores otherwise, and leaves a report for each
# in loadtest/report/. The first run compiles k6, which takes minutes.
#
#   loadtest/run.sh                          smoke ramp spike soldout taps pay
#   SCENARIO="spike soak" loadtest/run.sh    only these; soak takes 30 minutes (SOAK=2m for less)
#   PEAK=3000 TIME=2 loadtest/run.sh         taps a second at the peak; everything twice as long
#
# A server of your own: SECKILL_URL, ADMIN_TOKEN and TOKENS (a file with a token a
# line, made by seckill token --users 1-20000), and METRICS for soak's eye.
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

touch "$folder/env"
if [ -z "${SECKILL_URL:-}" ]; then
	go build -tags nomsgpack -o "$folder/shop" ./internal/bench/cmd/shop || exit 1
	"$folder/shop" -users "${USERS:-20000}" >"$folder/env" &
	server=$!
	until grep -q '^#' "$folder/env"; do
		kill -0 "$server" 2>/dev/null || { echo "the server did not start" >&2; exit 1; }
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

rm -rf loadtest/report
mkdir -p loadtest/report
worst=0
rows=
for name in $scenarios; do
	echo "== $name"
	K6_WEB_DASHBOARD=true K6_WEB_DASHBOARD_PERIOD=1s K6_WEB_DASHBOARD_PORT=-1 \
		K6_WEB_DASHBOARD_EXPORT=loadtest/report/$name.html K6_NO_USAGE_REPORT=true \
		go tool -modfile=loadtest/go.mod k6 run --quiet "loadtest/$name.js" 2>&1 | tee "loadtest/report/$name.txt"
	code=${PIPESTATUS[0]}
	verdict=passed
	[ "$code" = 0 ] || { verdict="failed ($code)" worst=1; }
	rows+="<h2>$name: $verdict</h2><p><a href=\"$name.html\">charts</a><details><summary>thresholds and counts</summary><pre>$(
		sed 's/&/\&amp;/g; s/</\&lt;/g' "loadtest/report/$name.txt"
	)</pre></details>"
	echo "== $name $verdict"
done
cat >loadtest/report/index.html <<-HTML
	<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">
	<title>Load test</title><style>body{font:16px system-ui;margin:2rem}h2{margin-bottom:.2rem}pre{font-size:13px;overflow:auto}</style>
	<h1>Load test</h1><p>$(date -u '+%Y-%m-%d %H:%M UTC'), $(git rev-parse --short HEAD 2>/dev/null || echo "no revision")</p>
	<p>On $stores.</p>
	$rows</html>
HTML
echo "report: loadtest/report/index.html"
exit $worst
