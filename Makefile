# make run and make test need Go alone. The other targets fetch their tools at pinned versions.

.DEFAULT_GOAL := help
.PHONY: help run test gate fuzz generate edge release bench

# The flags of a release, so that all targets share what is compiled.
export GOFLAGS = -trimpath
export CGO_ENABLED = 0

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]*:.*## / { printf "%-9s %s\n", $$1, $$2 }' Makefile

run: ## make public/ and serve it at http://127.0.0.1:8080
	@build/run.sh

test: ## run every check that needs Go alone
	@build/test.sh

gate: ## run every check, on Debian as root; the last line says how many passed
	@build/test.sh gate

MINUTES = 10
fuzz: ## send both hosts made-up requests for MINUTES, and compare their answers
	build/toolchain/install.sh
	go test -tags full,fuzz -count=1 -timeout 0 ./edge/worker -run '^TestHostsAlike$$' -v -minutes $(MINUTES) -seed $(or $(SEED),0) -request $(or $(REQUEST),0)

generate: ## make public/ from content/
	go run ./cmd/anteroom generate

edge: ## build the bundle for Cloudflare in build/bundle/
	go run ./cmd/anteroom build

release: ## make the archives of a release for four systems in build/out/release/
	@build/release.sh

bench: ## run the benchmarks, and make a bundle to measure in build/out/candidate
	build/bench/edge.sh
	go test -run '^$$' -bench . -benchmem ./...
