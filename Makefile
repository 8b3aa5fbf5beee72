# The two commands of a newcomer: `make run` and `make test`. Behind them are CMake presets (PRESET=debug, asan ...).
PRESET ?= default
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Further options for the configuration, for example CMAKE_ARGS=-DIMBREX_WITH_MPI=OFF
CMAKE_ARGS ?=
# Further options for ctest, for example TEST_ARGS="-L unit" or TEST_ARGS="-R when"
TEST_ARGS ?=

.PHONY: help setup configure_programs build run test sources ci bench guide format clean
.DEFAULT_GOAL := help

help:
	@echo "make run     set the machine up, build what it takes, run the demonstration (Jacobi3D) into out/jacobi3d/"
	@echo "make build   set the machine up, build library, tool, applications and examples into build/$(PRESET)/"
	@echo "make test    set the machine up for tests too, build everything, run every test and quick check"
	@echo "make sources check the sources: clang-tidy, and that each header compiles alone (minutes)"
	@echo "make ci      all that must hold before a change is merged: tests, sources, sanitizers (an hour on two cores)"
	@echo "make bench   build and run the benchmarks into out/bench/"
	@echo "make guide   the documentation as web pages into out/guide/html (Sphinx, MyST)"
	@echo "make format  rewrite the sources as clang-format 19 does"
	@echo "make clean   remove build/ and out/"
	@echo "choices: PRESET=default|debug|asan|tsan|clang  JOBS=$(JOBS)  CMAKE_ARGS=...  TEST_ARGS=...  IMBREX_SKIP_SETUP=1"

compile = cmake --build --preset $(PRESET) --parallel $(JOBS)

setup:
	@scripts/setup

# Without tests, and so without what only those need. What is built here is not built again with them.
configure_programs:
	@scripts/setup build
	@cmake --preset $(PRESET) -DIMBREX_BUILD_TESTS=OFF $(CMAKE_ARGS)

build: configure_programs
	@$(compile)

run: configure_programs
	@$(compile) --target demonstration
	@scripts/run-demo build/$(PRESET)

test: setup
	@cmake --preset $(PRESET) $(CMAKE_ARGS)
	@$(compile)
	@scripts/test $(PRESET) --parallel $(JOBS) --label-exclude sources $(TEST_ARGS)

sources: setup
	@cmake --preset $(PRESET) $(CMAKE_ARGS)
	@$(compile)
	@scripts/test $(PRESET) --parallel $(JOBS) --label-regex sources

ci:
	@.ci/run

bench: setup
	@cmake --preset $(PRESET) $(CMAKE_ARGS)
	@$(compile)
	@scripts/bench build/$(PRESET)

guide: setup
	@cmake --preset $(PRESET) $(CMAKE_ARGS)
	@$(compile) --target imbrex_tool
	@scripts/guide build/$(PRESET)

format:
	@python3 -B tests/checks/format.py --root . --fix

clean:
	rm -rf build out
