# make run needs Go alone. The other targets fetch their tools by themselves, at pinned versions.

.DEFAULT_GOAL := help
.PHONY: help run test generate edge release bench lint mutants

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile

run: generate ## generate public/ and serve it at http://127.0.0.1:8080
	go run ./cmd/anteroom serve

test: ## run every check; the last line says how many passed
	@build/test.sh

generate: ## make public/ from content/
	go run ./cmd/anteroom generate

edge: ## build the bundle for Cloudflare in build/bundle/
	go run ./cmd/anteroom build

release: ## make the archives of a release for six systems in build/out/release/
	@build/release.sh

bench: ## make a bundle to measure in build/out/candidate, and run the benchmarks; it ends with tables of their medians
	@mkdir -p build/cache
	build/bench/edge.sh
	go test -run '^$$' -bench . -benchmem -count 6 -benchtime 0.2s ./... > build/cache/bench.txt || { cat build/cache/bench.txt; exit 1; }
	@go tool -modfile=build/tools/go.mod benchstat build/cache/bench.txt

lint: ## run the checks of code and documents without the tests
	@build/test.sh lint

mutants: ## change the code one operator at a time and list what no test notices; PACKAGE=edge/turn for one package
	@build/mutants.sh $(PACKAGE)
