# Everything a developer types. Variables such as MEMTIDE_PORT may follow: make run MEMTIDE_PORT=8081
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.PHONY: help run stop test demo eval eval-extraction bench sqlx audit

help: ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 16

run: ## serve a local stack and print how to use it (DETACH=1: in the background, PROFILE=release: optimised)
	@scripts/setup.sh
	@scripts/run.sh

stop: ## end what this clone started; data stays
	@scripts/stop.sh

test: ## check format, lints, .sqlx and docs, and run all tests
	@scripts/setup.sh
	cargo fmt --all --check
	cargo clippy -p memtide -p memtide-kernel --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --locked
	scripts/check_sqlx.sh
	set -a; . .dev/test.env; set +a; cargo test --locked -p memtide -p memtide-kernel

demo: .dev/env ## remember a small conversation in the running stack and ask six questions
	@cargo run --locked --example demo

eval: .dev/env ## measure retrieval in the running stack: make eval DATA=folder (MODE=lexical or semantic)
	@cargo run --locked --example eval -- "$(DATA)" $(if $(MODE),--mode $(MODE))

eval-extraction: ## measure what is found in texts, by rules and, with MEMTIDE_LLM_URL set, by a language model
	@scripts/setup.sh
	@set -a; . .dev/test.env; set +a; cargo test --locked --test it -- extraction:: --nocapture

bench: ## print speed as ratios, beside a floor if there is one: make bench FLOOR=path/to/floor.sh
	@scripts/setup.sh
	@scripts/bench.sh

sqlx: ## bring .sqlx up to date after a change of SQL
	@scripts/setup.sh
	@scripts/check_sqlx.sh --write

audit: ## licences, advisories and unused dependencies (needs cargo-deny and cargo-machete)
	cargo deny check
	cargo machete

.dev/env:
	@echo "nothing runs here yet: make run" >&2; exit 1
