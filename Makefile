# `make` alone tells what there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run build release quick test test-all lint systems mutants chaos scale bench recordings loadtest image up down

# One set of flags for whatever is built, so that nothing is compiled twice. gin's
# MessagePack is a seventh of the first build, and is not used.
TAGS := nomsgpack

# What the tests sample is drawn by this number; TEST_SEED=… draws it again.
export TEST_SEED ?= $(shell date +%s)
# What takes longest is begun first, what mostly waits beside what mostly computes. Four packages at
# once, and two tests in each: what waits beside what computes keeps two cores busy.
FIRST := internal/testing/e2e,internal/tools/servers,internal/testing/mysqlforms,internal/lock/mysqllock,internal/store,internal/testing/bench,internal/testing/chaos
FIRST := $(FIRST),internal/platform/redisconn,internal/order,internal/stock,internal/lock/redislock,internal/testing/scale
FIRST := $(FIRST),internal/lock/etcdlock,internal/testing/model,internal/testing/mutation,internal/lock/redlock,internal/coupon,internal/lock/zklock
FIRST := $(FIRST),internal/tools/lab,internal/testing/e2e/attack,internal/testing/testreport,internal/app,internal/audit
# The race detector without what it brings along: internal/testing/gobuild says why.
RACE := '-race' '-gcflags=all=-d=checkptr=0 -dwarf=false'
# These binaries are run and not debugged: without DWARF each of the fifty links in three quarters of the time.
NODWARF := -ldflags=-w
# What only computes, where the race detector finds nothing and takes eight times as long.
NORACE := internal/testing/model,internal/testing/repository,internal/tools/gallery
# The test binaries stay in bin/tests: what has not changed is not linked again.
report = go run ./internal/testing/testreport -first $(FIRST) -norace $(NORACE) -keep bin/tests
# The race detector lets every program that it is in wait a second at its end, for late reports. By
# then nothing runs: a goroutine that is left is a failure.
export GORACE := atexit_sleep_ms=0
QUICKFIRST := internal/testing/e2e,cmd/seckill,internal/lock/redislock,internal/testing/model,internal/tools/rush,internal/testing/mutation

help: ## what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## the application on http://127.0.0.1:8080, with no server installed
	go run -tags $(TAGS) ./cmd/seckill serve

build: ## the program, as bin/seckill
	go build -tags $(TAGS) -o bin/seckill ./cmd/seckill

release: ## static, stripped binaries for Linux, macOS and Windows with their checksums, in bin/release
	.ci/release $(TAGS)

quick: ## what can be known without servers and without root, in under a minute
	@go run ./internal/testing/testreport -first $(QUICKFIRST) -skips allow -- -short -vet=off $(NODWARF) -p=4 -parallel=3 -tags=$(TAGS) ./...

test: ## everything, on real servers, with the race detector; installs what is missing
	@.ci/install-servers
	@.ci/k6 >/dev/null & # its download waits while the tests are compiled; the test that runs it waits for it
	@echo "TEST_SEED=$(TEST_SEED)"
	@$(report) -- $(RACE) -count=1 -vet=off $(NODWARF) -p=4 -parallel=2 -timeout=30m -tags=$(TAGS) ./...

test-all: export TEST_ALL = 1
test-all: ## the same with nothing sampled: every fault, every history, every view of the page
	@.ci/install-servers
	@.ci/k6 >/dev/null & # its download waits while the tests are compiled; the test that runs it waits for it
	@$(report) -- $(RACE) -count=1 -vet=off $(NODWARF) -p=2 -parallel=2 -timeout=90m -tags=$(TAGS) ./...

lint: ## vet, gofmt, golangci-lint, and the types of everything on every system
	go vet -tags $(TAGS) ./...
	go vet -tags $(TAGS),faults ./cmd/seckill
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "run gofmt on:" $$unformatted; exit 1; }
	@linter=$$(.ci/linter); echo golangci-lint run
	@linter=$$(.ci/linter); "$$linter" run --build-tags $(TAGS) ./...; "$$linter" run --build-tags $(TAGS),faults ./cmd/seckill
	@.ci/systems $(TAGS)

systems: ## vets all packages for Windows and macOS, and links the program for every system
	.ci/systems $(TAGS) all

mutants: ## plants the bugs that are kept, one at a time, and asks whether the tests notice
	go run ./internal/testing/mutation/cmd/mutants

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

loadtest: ## a sale under k6, against a server that it starts
	loadtest/run.sh

image: ## the program as an image, which knows its version
	docker build --build-arg VERSION=$$(git describe --tags --always --dirty) -t seckill .

.env:
	@umask 077 && .ci/secrets >.env.part && mv .env.part .env && echo "made up passwords in .env"

up: .env ## MySQL and Redis in containers, for a program run by hand
	docker compose up -d --wait

down: .env ## stops these and every other container of docker-compose.yml
	docker compose --profile '*' down
