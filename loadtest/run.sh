#!/usr/bin/env bash
# Runs a k6 script against a server that it starts, with embedded stores, and leaves
# loadtest/report.html. The first run compiles k6, which takes minutes.
#
#   loadtest/run.sh [script, default loadtest/sale.js]
#
# A server of your own: SECKILL_URL, COUPON, ADMIN_TOKEN and TOKENS (a file with a
# token a line) go to k6 as they are; see the README.
set -euo pipefail
cd "$(dirname "$0")/.."
script=${1:-loadtest/sale.js}
folder=$(mktemp -d)
server=
stop() {
	[ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
	rm -rf "$folder"
}
trap stop EXIT

go build -o "$folder/seckill" ./cmd/seckill
SECKILL_AUTH__SECRET=$(od -An -tx1 -N32 /dev/urandom | tr -d ' \n')
export SECKILL_AUTH__SECRET SECKILL_HTTP__ADDR=127.0.0.1:0 SECKILL_ADMIN__ADDR=127.0.0.1:0 SECKILL_LOG__LEVEL=warn
"$folder/seckill" serve >"$folder/out" &
server=$!
for _ in $(seq 100); do
	grep -q 'coupon on sale' "$folder/out" && break
	kill -0 "$server" || exit 1
	sleep 0.1
done
SECKILL_URL=$(awk 'NR == 1 { print $1 }' "$folder/out")
ADMIN_TOKEN=$("$folder/seckill" token --user 1 --role admin)
TOKENS=$folder/tokens
"$folder/seckill" token --users 1-20000 >"$TOKENS"
export SECKILL_URL ADMIN_TOKEN TOKENS
# The rest of the environment is the server's: k6 knows no SECKILL_ but the address.
unset SECKILL_AUTH__SECRET
K6_WEB_DASHBOARD=true K6_WEB_DASHBOARD_PERIOD=1s K6_WEB_DASHBOARD_PORT=-1 K6_WEB_DASHBOARD_EXPORT=loadtest/report.html \
	go tool -modfile=loadtest/go.mod k6 run --quiet "$script"
echo "report: loadtest/report.html"
