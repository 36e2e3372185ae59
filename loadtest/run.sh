#!/usr/bin/env bash
# Runs the k6 scripts against a server that it starts, on a private MariaDB and Redis if they are installed and on
# embedded stores otherwise. It prints a report and leaves a page in loadtest/report/, where the last five are kept.
# The exit code is 0 only if every scenario has passed. The first run compiles k6, which takes minutes.
#
#   loadtest/run.sh                                         smoke ramp spike soldout one-user pay
#   LT_SCENARIOS="spike soak" loadtest/run.sh               only these; soak takes 30 minutes (LT_SOAK_DURATION=2m for less)
#   LT_PEAK=3000 LT_DURATION_FACTOR=2 loadtest/run.sh       requests per second at the peak; everything twice as long
#   LT_LATENCY_FACTOR=5 loadtest/run.sh                     a busy machine: answers may take five times as long
#   LT_EMBEDDED=1 loadtest/run.sh                           on embedded stores, whatever is installed
#   DESIGN=naive loadtest/run.sh                            another design makes the orders: docs/DESIGNS.md
#
# loadtest/README.md has all variables. Options of k6 such as K6_OUT work, except those that replace the scenarios.
# In K6_OUT the word {scenario} stands for the name of the scenario.
set -uo pipefail
for name in LT_TOKENS LT_REPORTS; do # paths from the working folder
	[[ -z ${!name:-} || ${!name} == /* ]] || printf -v "$name" '%s/%s' "$PWD" "${!name}"
done
cd "$(dirname "$0")/.."

# wrong ends the run with a sentence.
wrong() {
	echo "loadtest: $1" >&2
	exit 2
}

# settings.js has the names, and rejects the same ones for `k6 run`.
names=$(sed -n "s/^  \([A-Z_]*\): '\(LT_[A-Z_]*\)',.*/\1 \2/p" loadtest/settings.js)
while read -r old new; do
	[ -z "${!old:-}" ] || wrong "the load test does not read $old: set $new instead"
done <<<"$names"
for name in "${!LT_@}"; do
	[ "$name" = LT_SUMMARY ] || grep -q " $name\$" <<<"$names" || wrong "the load test has no variable $name"
done
for name in K6_VUS K6_DURATION K6_ITERATIONS K6_STAGES; do
	[ -z "${!name:-}" ] || wrong "$name does not fit these scenarios, in which buyers arrive at a fixed rate: set LT_PEAK and LT_DURATION_FACTOR instead"
done
for name in LT_PEAK LT_DURATION_FACTOR LT_LATENCY_FACTOR LT_USERS; do
	value=${!name:-1}
	[[ $value =~ ^[0-9]*\.?[0-9]+$ && $value =~ [1-9] ]] || wrong "$name is $value: it must be a number above 0"
done
[[ ${LT_SOAK_DURATION:-30m} =~ ^[1-9][0-9]*[smh]$ ]] || wrong "LT_SOAK_DURATION is $LT_SOAK_DURATION: it must be a duration such as 90s, 2m or 1h"
scenarios=${LT_SCENARIOS:-smoke ramp spike soldout one-user pay}
for name in $scenarios; do
	grep -qs '^export const handleSummary' "loadtest/$name.js" || wrong "there is no scenario $name"
done
if [ -n "${LT_URL:-}" ]; then
	[ -n "${LT_ADMIN_TOKEN:-}" ] || wrong "LT_ADMIN_TOKEN is not set: it is the output of \`seckill token --user 1 --role admin\`"
	[ -n "${LT_TOKENS:-}" ] || wrong "LT_TOKENS is not set: it is a file with the output of \`seckill token --users 1-20000\`"
	[ -f "$LT_TOKENS" ] || wrong "there is no file $LT_TOKENS with the tokens of the buyers: make it with \`seckill token --users 1-20000\`"
fi

folder=$(mktemp -d)
server=
stop() {
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
	rm -rf "$folder"
}
trap stop EXIT
k6=$(.ci/k6) && go build -tags nomsgpack -o "$folder/k6report" ./internal/testing/bench/cmd/k6report || exit 2

touch "$folder/env"
if [ -z "${LT_URL:-}" ]; then
	go build -tags nomsgpack -o "$folder/benchserver" ./internal/testing/bench/cmd/benchserver || exit 2
	# shellcheck disable=SC2086 # a word per setting
	"$folder/benchserver" -users "${LT_USERS:-20000}" ${LT_EMBEDDED:+-embedded} ${DESIGN:+-design "$DESIGN"} ${LT_SERVER_SETTINGS:-} >"$folder/env" &
	server=$!
	until grep -q '^#' "$folder/env"; do
		kill -0 "$server" 2>/dev/null || wrong "the server did not start"
		sleep 0.1
	done
	stores=$(sed -n 's/^# on //p' "$folder/env")
	echo "server: on $stores"
	set -a
	# shellcheck disable=SC1091
	. "$folder/env"
	set +a
else
	export LT_URL LT_ADMIN_TOKEN LT_TOKENS
	stores="the server at $LT_URL"
fi

reports=${LT_REPORTS:-loadtest/report}
run=$reports/$(date -u +%Y-%m-%dT%H-%M-%SZ)
mkdir -p "$run"
codes=()
for name in $scenarios; do
	echo "== $name"
	# An empty K6_OUT would be an output without a name.
	[ -z "${K6_OUT:-}" ] || output=${K6_OUT//\{scenario\}/$name}
	env ${output:+"K6_OUT=$output"} LT_SUMMARY="$run/$name" K6_WEB_DASHBOARD=true K6_WEB_DASHBOARD_PERIOD=1s \
		K6_WEB_DASHBOARD_PORT="${K6_WEB_DASHBOARD_PORT:--1}" K6_WEB_DASHBOARD_EXPORT="$run/$name.html" K6_NO_USAGE_REPORT=true \
		"$k6" run --quiet --no-color "loadtest/$name.js" >"$run/$name.log" 2>&1
	codes+=("$name=$?")
done
# The report names a secret of the server without its value.
settings=
for setting in ${LT_SERVER_SETTINGS:-}; do
	[[ $setting =~ ^[A-Z_]*(SECRET|PASSWORD|DSN|KEY)[A-Z_]*= ]] && setting=${setting%%=*}=…
	settings+=" $setting"
done
model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
machine="${model:-$(uname -m)}, $(getconf _NPROCESSORS_ONLN) cores, $(uname -sr)"
echo
"$folder/k6report" -run "$run" -on "$stores" -revision "$(git rev-parse --short HEAD 2>/dev/null)" \
	-settings "${settings# }" -machine "$machine" "${codes[@]}"
worst=$?
echo
echo "report: $reports/index.html"
exit $worst
