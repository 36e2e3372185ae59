# `make` alone tells what there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run build test tests lint breaks chaos bench loadtest up down

help: ## what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## the application on http://127.0.0.1:8080, with no server installed
	go run ./cmd/seckill serve

build: ## the program, as bin/seckill
	go build -trimpath -o bin/seckill ./cmd/seckill

test: ## everything: installs what is missing, then all tests with the race detector, and vet and linter beside them
	@.ci/install-servers
	@.ci/beside $(MAKE) --no-print-directory lint -- $(MAKE) --no-print-directory tests

tests:
	@# The locks mostly wait, so they run beside the package that works longest; vet is the linter's.
	go test -race -count=1 -vet=off -timeout 20m -v ./cmd/... ./internal/lock/... ./internal/servers/... ./... 2>&1 | awk -f .ci/test-report.awk

lint: ## vet, gofmt and golangci-lint
	go vet ./...
	go vet -tags faults ./cmd/seckill
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "run gofmt on:" $$unformatted; exit 1; }
	@linter=$$(.ci/linter); echo golangci-lint run; "$$linter" run ./...; "$$linter" run --build-tags faults ./cmd/seckill

breaks: ## breaks the code on purpose, in every way that is kept, and asks whether the tests notice
	go run ./internal/breaks/cmd/breaks

chaos: ## breaks real processes and servers under load, in every way once; CHAOS="--rounds 500 --log runs.jsonl" for more
	go build -tags faults -o bin/seckill-chaos ./cmd/seckill
	bin/seckill-chaos chaos --html bin/chaos.html $(CHAOS)

bench: ## every path of the program in one table, then the parts, and the locks beside well-known ones; BENCH=-quick to try it
	@mkdir -p bin
	go run ./internal/bench/cmd/bench -o bin/bench.md -svg bin/bench.svg $(BENCH)
	go test -run '^$$' -bench . -benchmem $(if $(findstring -quick,$(BENCH)),-benchtime 1x) ./...
	cd internal/lock/rivals && go run . $(findstring -quick,$(BENCH))

loadtest: ## a sale under k6, against a server that it starts
	loadtest/run.sh

up: ## MySQL and Redis in containers, for a program run by hand
	docker compose up -d --wait

down: ## stops those containers
	docker compose down
