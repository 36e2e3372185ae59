# `make` alone tells what there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo run build release quick test test-all lint vuln systems mutants chaos scale bench recordings loadtest image up down

# One set of flags for whatever is built, so that nothing is compiled twice. gin's
# MessagePack is a seventh of the first build, and is not used.
TAGS := nomsgpack

# What the tests sample is drawn by this number; TEST_SEED=… draws it again.
export TEST_SEED ?= $(shell date +%s)
# go test begins with the packages that it is given first: those that take longest, and between them those that
# mostly wait and those that mostly compute. Four packages at once, with two tests in each, keep two cores busy.
FIRST := testing/e2e tools/servers testing/mysqlforms lock/mysqllock store testing/bench testing/chaos
FIRST += platform/redisconn order stock lock/redislock testing/scale
FIRST += lock/etcdlock testing/mutation lock/redlock coupon lock/zklock
FIRST += tools/lab testing/e2e/attack app audit
QUICKFIRST := ./internal/testing/e2e ./cmd/seckill ./internal/lock/redislock ./internal/testing/model ./internal/tools/rush ./internal/testing/mutation
# These packages only compute. The race detector finds nothing in them, and makes them eight times slower.
NORACE := ./internal/testing/model ./internal/testing/repository ./internal/tools/gallery
# The race detector without what it brings along: internal/testing/gobuild says why.
RACE := '-race' '-gcflags=all=-d=checkptr=0 -dwarf=false'
# These binaries are run and not debugged: without DWARF each of the fifty links in three quarters of the time.
NODWARF := -ldflags=-w
# The race detector lets every program that it is in wait a second at its end, for late reports. By
# then nothing runs: a goroutine that is left is a failure.
export GORACE := atexit_sleep_ms=0

# gotestsum prints one line per package, and the output of failed tests at the end. The command skips lists the tests
# that were skipped.
gotestsum = go tool gotestsum --format=pkgname --format-hide-empty-pkg --hide-summary=skipped

# $(call tests,FLAGS,PACKAGES AT ONCE) tests all packages with these flags of go test. The packages without the race
# detector run at the same time as the others, which wait for servers much of the time. Their output is printed last.
# gotestsum prints nothing while packages are compiled, so the minutes that pass are printed.
define tests
@.ci/install-servers
@.ci/k6 >/dev/null & # its download waits while the tests are compiled; the test that runs it waits for it
@echo "TEST_SEED=$(TEST_SEED)"
@packages=$$(go list -tags=$(TAGS) $(FIRST:%=./internal/%) ./... | grep -vxFf <(go list $(NORACE))); mkdir -p bin; status=0; \
(while sleep 60; do echo "… $$((SECONDS / 60)) min"; done) & minutes=$$!; trap "kill $$minutes" EXIT; \
$(gotestsum) --jsonfile=bin/norace.json -- $(1) -p=1 $(NORACE) >bin/norace.txt 2>&1 & norace=$$!; \
$(gotestsum) --jsonfile=bin/race.json -- $(RACE) $(1) -p=$(2) $$packages || status=1; \
wait $$norace || status=1; echo; echo "without the race detector:"; cat bin/norace.txt; \
echo; echo "the slowest tests:"; cat bin/race.json bin/norace.json | go tool gotestsum tool slowest --num=15; \
cat bin/race.json bin/norace.json | go run -tags $(TAGS) ./internal/testing/skips || status=1; exit $$status
endef

help: ## what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## a whole sale with 10,000 buyers, in this process, and its audit
	go run -tags $(TAGS) ./cmd/seckill demo

run: ## the application on http://127.0.0.1:8080, with no server installed
	go run -tags $(TAGS) ./cmd/seckill serve

build: ## the program, as bin/seckill
	go build -tags $(TAGS) -o bin/seckill ./cmd/seckill

release: ## static, stripped binaries for Linux, macOS and Windows with their checksums, in bin/release
	.ci/release $(TAGS)

quick: ## all tests that need no server and no root: 2 to 6 minutes at first, then seconds
	@status=0; \
	$(gotestsum) --jsonfile=bin/quick.json -- -short -vet=off $(NODWARF) -p=4 -parallel=3 -tags=$(TAGS) $(QUICKFIRST) ./... || status=1; \
	go run -tags $(TAGS) ./internal/testing/skips -allow <bin/quick.json || status=1; exit $$status

test: ## everything, on real servers, with the race detector, in 8 to 25 minutes; installs what is missing
	$(call tests,-count=1 -vet=off $(NODWARF) -parallel=2 -timeout=30m -tags=$(TAGS),4)

test-all: export TEST_ALL = 1
test-all: ## the same with nothing sampled: every fault, every history, every view of the page
	$(call tests,-count=1 -vet=off $(NODWARF) -parallel=2 -timeout=90m -tags=$(TAGS),2)

lint: ## vet, gofmt, golangci-lint, and the types of everything on every system
	go vet -tags $(TAGS) ./...
	go vet -tags $(TAGS),faults ./cmd/seckill
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "run gofmt on:" $$unformatted; exit 1; }
	@linter=$$(.ci/linter); echo golangci-lint run
	@linter=$$(.ci/linter); "$$linter" run --build-tags $(TAGS) ./...; "$$linter" run --build-tags $(TAGS),faults ./cmd/seckill
	@.ci/systems $(TAGS)

vuln: ## known vulnerabilities of what is imported; needs the network
	@.ci/vuln $(TAGS)

systems: ## vets all packages for Windows and macOS, and links the program for every system
	.ci/systems $(TAGS) all

mutants: ## plants the bugs that are kept, one at a time, and asks whether the tests notice
	go run -tags $(TAGS) ./internal/testing/mutation/cmd/mutants

chaos: ## breaks real processes and servers under load, in every way once; CHAOS="--rounds 500 --log runs.jsonl" for more
	go build -tags $(TAGS),faults -o bin/seckill-chaos ./cmd/seckill
	@before=$$(.ci/before $(BEFORE)); set -x; bin/seckill-chaos chaos $${before:+--before $$before} --html bin/chaos.html $(CHAOS)

scale: ## a sale of 1,000,000 buyers end to end, and of half of them; SCALE="-buyers 20000 -phases sale,audit" for less
	@mkdir -p bin
	go run -tags $(TAGS) ./internal/testing/scale/cmd/scale -o bin/scale.md $(SCALE)

bench: ## every path of the program in one table, then the parts, and the locks beside well-known ones; BENCH=-quick to try it
	@mkdir -p bin
	go run -tags $(TAGS) ./internal/testing/bench/cmd/bench -o bin/bench.md -svg bin/bench.svg $(BENCH)
	go test -tags $(TAGS) -run '^$$' -bench . -benchmem $(if $(findstring -quick,$(BENCH)),-benchtime 1x) ./...
	cd internal/testing/lockbench && go run . $(findstring -quick,$(BENCH))

recordings: ## what the lab shows where there are no servers: plays every experiment on real ones
	go run -tags $(TAGS) ./internal/tools/lab/cmd/record

loadtest: ## the k6 scenarios, against a server that it starts; LT_SCENARIOS=spike LT_PEAK=200 for less
	loadtest/run.sh

image: ## the program as an image, which knows its version
	docker build --build-arg VERSION=$$(git describe --tags --always --dirty) -t seckill .

.env:
	@umask 077 && .ci/secrets >.env.part && mv .env.part .env && echo "made up passwords in .env"

up: .env ## MySQL and Redis in containers, for a program run by hand
	docker compose up -d --wait

down: .env ## stops these and every other container of docker-compose.yml
	docker compose --profile '*' down
