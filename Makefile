# `make demo` and `make test` include the set-up. Run `make test-all` before a release.
PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
STARTED := $(shell date +%s)
# Compile modules once for all tests and servers, even if the shell's environment forbids it.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all suites test-postgres test-browser test-tools test-deploy lint types style dictionary pictures states bench bench-faults lock pins wheel site sbom clean messages

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

demo: .venv/core  ## serve a study with results and free seats on PORT
	$(BIN)/python manage.py demo --port $(PORT)

# Every test is in at least one suite (tests/config/test_suites.py). The public CI runs all each night; .ci/run runs a part.
SUITES := test-postgres test-tools test-browser test-deploy
# Three workers on two cores: one works while others wait for browsers, databases, processes.
PYTEST := $(BIN)/pytest -n 3 --dist worksteal
ON_POSTGRES := $(BIN)/python tests/with_postgres.py
# Only a browser that stops responding to its driver is restarted, once, with a report; failed tests are not repeated.
AGAIN := --reruns 1 --only-rerun "from pytest-timeout"

test: .venv/dev .venv/chromium tests/js/node_modules/ready  ## run all tests on SQLite; on PostgreSQL those that depend on it, and one journey per kind of page
	@.ci/timed lint $(MAKE) --no-print-directory --jobs 2 --output-sync lint
	@.ci/timed JavaScript node --test tests/js/*.test.mjs
	@.ci/timed SQLite $(PYTEST) -m "not browser and not long"
	@.ci/timed PostgreSQL $(ON_POSTGRES) $(PYTEST) $(AGAIN) -m "(postgres or engines or journey) and not long"
	@seconds=$$(($$(date +%s) - $(STARTED))); echo "make test: $$((seconds / 60)) minutes"; [ $$seconds -le 480 ] || echo "WARNING: above 8 minutes"

test-all: test $(SUITES)  ## run the long suites too

suites:  ## print the names of the long suites
	@echo $(SUITES)

# .ci/run passes a part of FOLDERS to save time.
FOLDERS := tests
test-postgres: .venv/dev .venv/chromium .venv/nginx  ## run everything on PostgreSQL except the browser, and long tests of SQLite
	$(ON_POSTGRES) $(PYTEST) -m "not browser" $(FOLDERS)
	$(PYTEST) -m "long and sqlite" tests

# The client is installed from its wheel. Its types are checked with the libraries that it uses.
test-tools: .venv/dev .venv-tools/ready .venv/r  ## test the client, model annotators, other tools' libraries, R
	.venv-tools/bin/pip wheel --quiet --no-deps --wheel-dir .venv-tools/wheels ./client
	.venv-tools/bin/pip install --quiet --force-reinstall --no-deps .venv-tools/wheels/handful-*.whl
	cd client && ../.venv-tools/bin/mypy
	.venv-tools/bin/pytest -c tests/client/pytest.ini tests/client
	.venv-tools/bin/pytest -c tests/seats/pytest.ini tests/seats
	.venv-tools/bin/pytest -c tests/tools/pytest.ini tests/tools
	$(BIN)/pytest -c tests/r/pytest.ini tests/r

test-browser: .venv/dev .venv/chromium .venv/fonts .venv/browsers tests/browsers/node_modules/ready  ## run all tests with Chromium, and the highlighter in Firefox and WebKit, on PostgreSQL
	$(ON_POSTGRES) $(PYTEST) $(AGAIN) -m "browser"
	$(ON_POSTGRES) $(BIN)/pytest -c tests/browsers/pytest.ini tests/browsers

test-deploy: .venv/dev .venv/redis .venv/nginx .venv/machines  ## test jobs on Celery, killed servers, deploy/, and docs/install.md in an empty Debian (as root)
	CELERY_BROKER_URL=redis://127.0.0.1:6381/0 $(ON_POSTGRES) $(BIN)/pytest -c tests/workers/pytest.ini tests/workers
	$(BIN)/pytest -c tests/faults/pytest.ini tests/faults
	$(BIN)/pytest -c tests/deploy/pytest.ini tests/deploy

lint: types style

types: .venv/dev
	$(BIN)/mypy

style: .venv/dev tests/js/node_modules/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	find templates -name '*.html' ! -name _pieces.html ! -name _layers.html | xargs $(BIN)/djade --check --target-version 5.2
	tests/js/node_modules/.bin/tsc -p tests/js
	$(BIN)/python .ci/english.py
	$(BIN)/python .ci/catalogues.py
	$(BIN)/python .ci/licences.py
	$(BIN)/python .ci/budget.py
	$(BIN)/python manage.py makemigrations --check --dry-run

# A new language: make messages LOCALES=fr
messages: .venv/dev  ## update locale/ from the sentences in the code, and compile it
	$(BIN)/python .ci/catalogues.py renew $(LOCALES)

dictionary: .venv/core  ## write docs/data-dictionary.md and docs/schemas from the declarations
	$(BIN)/python docs/dictionary.py && $(BIN)/python docs/schemas.py

pictures: .venv/dev .venv/chromium  ## take the pictures in docs/ from the demo
	$(BIN)/python docs/pictures.py

states: .venv/dev .venv/chromium .venv/fonts  ## take the reference screenshots of the annotators' pages (tests/browser/states)
	$(ON_POSTGRES) $(BIN)/pytest -q -p no:randomly tests/browser/test_states.py --renew-states

bench: .venv/dev  ## measure load with its yardstick, tables and files of a replication, the dashboard
	$(ON_POSTGRES) --on-disk $(BIN)/python benchmarks/run.py
	$(ON_POSTGRES) --on-disk $(BIN)/python benchmarks/results.py
	$(ON_POSTGRES) --on-disk $(BIN)/python benchmarks/dashboard.py

bench-faults: .venv/dev .venv/nginx  ## break servers, databases, releases and clocks, at full size
	$(BIN)/python -m benchmarks.faults all

# Python compiles the modules that it imports. Compiling all of them takes as long as the rest of the installation.
.venv/core: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Handful needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile -r requirements.lock
	@touch $@

.venv/dev: .venv/core requirements-dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	@touch $@

# The libraries of other tools conflict with the server's. The list has all pins, so pip resolves nothing.
.venv-tools/ready: tests/tools/requirements.txt
	$(PYTHON) -m venv .venv-tools
	.venv-tools/bin/pip install --quiet --disable-pip-version-check --no-deps -r tests/tools/requirements.txt
	@touch $@

# The type checker of the browser code; its files are not served.
tests/js/node_modules/ready: tests/js/package-lock.json
	@command -v npm >/dev/null || { echo "Install Node.js 20 or newer with npm: the checks of the browser code need it"; exit 1; }
	npm ci --prefix tests/js --no-audit --no-fund --loglevel error
	@touch $@

# Install Debian's packages if a check fails. If that is not possible, a line names the command to run.
debian = @{ $(1); } >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq $(2) >/dev/null; } || { echo "Install: apt-get install $(2)"; exit 1; }

.venv/chromium: .venv/core
	@command -v node >/dev/null || { echo "Install Node.js 20 or newer: the tests of the browser code need it"; exit 1; }
	$(call debian,command -v chromium,chromium)
	@touch $@

# The fonts of the reference screenshots.
.venv/fonts: .venv/core
	$(call debian,fc-list | grep -q NotoSansArabic && fc-list | grep -q NotoSansCJK,fontconfig fonts-noto-core fonts-noto-cjk)
	@touch $@

# Firefox, WebKit, and a virtual screen for WebKit.
.venv/browsers: .venv/core
	$(call debian,command -v firefox-esr && command -v WebKitWebDriver && command -v xvfb-run,firefox-esr webkit2gtk-driver xvfb xauth)
	@touch $@

# For the servers of bench-faults.
.venv/nginx: .venv/core
	$(call debian,command -v nginx && command -v pgbouncer && command -v faketime,--no-install-recommends nginx-light pgbouncer faketime)
	@touch $@

# R with lme4 and lmerTest.
.venv/r: .venv/core
	$(call debian,Rscript -e 'library(lmerTest)',--no-install-recommends r-base-core r-cran-lme4 r-cran-lmertest)
	@touch $@

# Programs that create empty machines and check a server's files.
.venv/machines: .venv/core
	$(call debian,command -v mmdebstrap && command -v systemd-analyze && command -v openssl && command -v slirp4netns && { command -v nginx || test -x /usr/sbin/nginx; },--no-install-recommends mmdebstrap systemd openssl slirp4netns nginx-light)
	@touch $@

.venv/redis: .venv/core
	$(call debian,command -v redis-server,redis-server)
	@touch $@

tests/browsers/node_modules/ready: tests/browsers/package-lock.json
	npm ci --prefix tests/browsers --no-audit --no-fund --loglevel error
	@touch $@

# Pins for every supported system and Python, with the SHA-256 of each file: pip accepts no other file.
PIN := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate
# Pins for the current Python. A new line with a package name is pinned with its dependencies.
PIN_HERE := $(BIN)/uv pip compile -q --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate
# Extras for servers.
EXTRAS := --extra celery --extra figures --extra parquet

lock: .venv/dev  ## pin the newest dependencies that fit
	$(MAKE) pins UPGRADE=-U

pins: .venv/dev  ## pin new dependencies of pyproject.toml, and leave the other pins unchanged
	$(BIN)/pip install --quiet uv
	$(PIN) $(UPGRADE) pyproject.toml -o requirements.lock
	$(PIN) $(UPGRADE) --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	$(PIN) $(UPGRADE) $(EXTRAS) -c requirements-dev.lock pyproject.toml -o deploy/requirements.lock
	$(PIN_HERE) tests/tools/requirements.txt -o tests/tools/requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	$(BIN)/python .ci/licences.py renew

# The same commit gives the same bytes: the files in the wheels have a fixed time.
wheel: .venv/dev  ## write dist/: the wheels of the server and its client, and their SHA-256
	rm -rf dist client/build
	SOURCE_DATE_EPOCH=1580601600 $(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist . ./client
	cd dist && sha256sum *.whl > SHA256SUMS

site: .venv-tools/ready  ## write site/: the documentation as a static site, one folder per version
	NO_MKDOCS_2_WARNING=1 .venv-tools/bin/mkdocs build --config-file .ci/site/mkdocs.yml --site-dir ../../site

# From an environment that contains only what a server installs.
sbom:  ## write sbom.json: packages of a server, with versions, licences and dependencies (CycloneDX)
	$(PYTHON) -m venv --clear .venv-sbom
	.venv-sbom/bin/pip install --quiet --disable-pip-version-check --require-hashes -r deploy/requirements.lock
	$(PYTHON) -m venv --clear .venv-sbom/cyclonedx
	.venv-sbom/cyclonedx/bin/pip install --quiet --disable-pip-version-check cyclonedx-bom
	.venv-sbom/cyclonedx/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o sbom.json .venv-sbom/bin/python

clean:  ## remove the files that make, tests and servers created in this folder
	rm -rf .venv .venv-sbom .venv-tools sbom.json dist var staticfiles
