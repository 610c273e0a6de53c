# Two commands do everything, set-up included: `make demo` and `make test`.
# `make test-all` is what must hold before a release.
PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
STARTED := $(shell date +%s)
# What tests and servers start again and again is compiled once, also where the shell forbids it.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-all suites test-postgres test-browser test-tools test-deploy lint types style dictionary pictures states bench bench-faults lock pins sbom clean messages

help:  ## what each word after make does
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

demo: .venv/core  ## a study with results and free seats, served on PORT
	$(BIN)/python manage.py demo --port $(PORT)

# Every test is in one of these at least (tests/config/test_suites.py). The public CI runs them whole each night; .ci/run, a part.
SUITES := test-postgres test-tools test-browser test-deploy
# On two cores: the third one works while others wait for browsers, databases, processes.
PYTEST := $(BIN)/pytest -n 3 --dist worksteal
ON_POSTGRES := $(BIN)/python tests/with_postgres.py
# A browser that stops answering its driver is started once more, and that is reported; a test that fails is not.
AGAIN := --reruns 1 --only-rerun "from pytest-timeout"

test: .venv/dev .venv/chromium tests/js/node_modules/ready  ## everything on SQLite; on PostgreSQL what depends on it, and one journey per kind of page
	@.ci/timed lint $(MAKE) --no-print-directory --jobs 2 --output-sync lint
	@.ci/timed JavaScript node --test tests/js/*.test.mjs
	@.ci/timed SQLite $(PYTEST) -m "not browser and not long"
	@.ci/timed PostgreSQL $(ON_POSTGRES) $(PYTEST) $(AGAIN) -m "(postgres or engines or journey) and not long"
	@seconds=$$(($$(date +%s) - $(STARTED))); echo "make test: $$((seconds / 60)) minutes"; [ $$seconds -le 480 ] || echo "WARNING: above 8 minutes"

test-all: test $(SUITES)  ## the long suites too

suites:  ## the names of the long suites
	@echo $(SUITES)

# .ci/run has no time for all FOLDERS.
FOLDERS := tests
test-postgres: .venv/dev .venv/chromium .venv/nginx  ## everything on PostgreSQL, but for the browser; long tests of SQLite
	$(ON_POSTGRES) $(PYTEST) -m "not browser" $(FOLDERS)
	$(PYTEST) -m "long and sqlite" tests

# From its wheel; its types are checked there too, with the libraries that it uses.
test-tools: .venv/dev .venv-tools/ready .venv/r  ## the client, models in annotators' seats, other tools' libraries, R
	.venv-tools/bin/pip wheel --quiet --no-deps --wheel-dir .venv-tools/wheels ./client
	.venv-tools/bin/pip install --quiet --force-reinstall --no-deps .venv-tools/wheels/handful-*.whl
	cd client && ../.venv-tools/bin/mypy
	.venv-tools/bin/pytest -c tests/client/pytest.ini tests/client
	.venv-tools/bin/pytest -c tests/seats/pytest.ini tests/seats
	.venv-tools/bin/pytest -c tests/tools/pytest.ini tests/tools
	$(BIN)/pytest -c tests/r/pytest.ini tests/r

test-browser: .venv/dev .venv/chromium .venv/fonts .venv/browsers tests/browsers/node_modules/ready  ## all tests with Chromium, and the highlighter in Firefox and WebKit, on PostgreSQL
	$(ON_POSTGRES) $(PYTEST) $(AGAIN) -m "browser"
	$(ON_POSTGRES) $(BIN)/pytest -c tests/browsers/pytest.ini tests/browsers

test-deploy: .venv/dev .venv/redis .venv/nginx .venv/machines  ## jobs on Celery, servers that are killed, deploy/, and docs/install.md in an empty Debian (as root)
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
messages: .venv/dev  ## locale/: the sentences of the code, to be translated; and compiled
	$(BIN)/python .ci/catalogues.py renew $(LOCALES)

dictionary: .venv/core  ## docs/data-dictionary.md, from the columns of the exports
	$(BIN)/python docs/dictionary.py

pictures: .venv/dev .venv/chromium  ## the pictures in docs/, from the demo
	$(BIN)/python docs/pictures.py

states: .venv/dev .venv/chromium .venv/fonts  ## the pictures that the annotator's pages are held to (tests/browser/states)
	$(ON_POSTGRES) $(BIN)/pytest -q -p no:randomly tests/browser/test_states.py --renew-states

bench: .venv/dev  ## the load with its yardstick in the same run, tables and files of a replication, the dashboard
	$(BIN)/python tests/with_postgres.py $(BIN)/python benchmarks/run.py
	$(BIN)/python tests/with_postgres.py $(BIN)/python benchmarks/results.py
	$(BIN)/python tests/with_postgres.py $(BIN)/python benchmarks/dashboard.py

bench-faults: .venv/dev .venv/nginx  ## servers, databases, releases and clocks that are broken on purpose, at full size
	$(BIN)/python -m benchmarks.faults all

.venv/core: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Handful needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	@touch $@

.venv/dev: .venv/core requirements-dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	@touch $@

# The libraries of other tools, which do not go with the server's; all pins are in the list, so pip has nothing to resolve.
.venv-tools/ready: tests/tools/requirements.txt
	$(PYTHON) -m venv .venv-tools
	.venv-tools/bin/pip install --quiet --disable-pip-version-check --no-deps -r tests/tools/requirements.txt
	@touch $@

# The type checker of the browser code; nothing of it is served.
tests/js/node_modules/ready: tests/js/package-lock.json
	@command -v npm >/dev/null || { echo "Install Node.js 20 or newer with npm: the checks of the browser code need it"; exit 1; }
	npm ci --prefix tests/js --no-audit --no-fund --loglevel error
	@touch $@

# Debian's packages, where a check fails; where they cannot be installed from here, apt's error and one line say what to do.
debian = @{ $(1); } >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq $(2) >/dev/null; } || { echo "Install: apt-get install $(2)"; exit 1; }

.venv/chromium: .venv/core
	@command -v node >/dev/null || { echo "Install Node.js 20 or newer: the tests of the browser code need it"; exit 1; }
	$(call debian,command -v chromium,chromium)
	@touch $@

# The letters of the pictures that pages are held to.
.venv/fonts: .venv/core
	$(call debian,fc-list | grep -q NotoSansArabic && fc-list | grep -q NotoSansCJK,fontconfig fonts-noto-core fonts-noto-cjk)
	@touch $@

# Firefox and WebKit, and a screen for the latter.
.venv/browsers: .venv/core
	$(call debian,command -v firefox-esr && command -v WebKitWebDriver && command -v xvfb-run,firefox-esr webkit2gtk-driver xvfb xauth)
	@touch $@

# For the servers that are broken on purpose.
.venv/nginx: .venv/core
	$(call debian,command -v nginx && command -v pgbouncer && command -v faketime,--no-install-recommends nginx-light pgbouncer faketime)
	@touch $@

# R with lme4 and lmerTest.
.venv/r: .venv/core
	$(call debian,Rscript -e 'library(lmerTest)',--no-install-recommends r-base-core r-cran-lme4 r-cran-lmertest)
	@touch $@

# What makes empty machines and reads the files of a server.
.venv/machines: .venv/core
	$(call debian,command -v mmdebstrap && command -v systemd-analyze && command -v openssl && command -v slirp4netns && { command -v nginx || test -x /usr/sbin/nginx; },--no-install-recommends mmdebstrap systemd openssl slirp4netns nginx-light)
	@touch $@

.venv/redis: .venv/core
	$(call debian,command -v redis-server,redis-server)
	@touch $@

tests/browsers/node_modules/ready: tests/browsers/package-lock.json
	npm ci --prefix tests/browsers --no-audit --no-fund --loglevel error
	@touch $@

# For every system and Python that is supported, each file by its SHA-256: pip takes no other.
PIN := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate
# For the Python that made it: what is new there is a line with its name, and pinned with all that it needs.
PIN_HERE := $(BIN)/uv pip compile -q --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate
# What servers use beyond the core.
EXTRAS := --extra celery --extra age --extra figures

lock: .venv/dev  ## pin the newest dependencies that fit
	$(MAKE) pins UPGRADE=-U

pins: .venv/dev  ## pin what pyproject.toml has and the lock files lack, and leave the other pins as they are
	$(BIN)/pip install --quiet uv
	$(PIN) $(UPGRADE) pyproject.toml -o requirements.lock
	$(PIN) $(UPGRADE) --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	$(PIN) $(UPGRADE) $(EXTRAS) -c requirements-dev.lock pyproject.toml -o deploy/requirements.lock
	$(PIN_HERE) tests/tools/requirements.txt -o tests/tools/requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	$(BIN)/python .ci/licences.py renew

# Of an environment that holds what a server installs and nothing else.
sbom:  ## sbom.json: what a server installs, with versions, licences and who needs what (CycloneDX)
	$(PYTHON) -m venv --clear .venv-sbom
	.venv-sbom/bin/pip install --quiet --disable-pip-version-check --require-hashes -r deploy/requirements.lock
	$(PYTHON) -m venv --clear .venv-sbom/cyclonedx
	.venv-sbom/cyclonedx/bin/pip install --quiet --disable-pip-version-check cyclonedx-bom
	.venv-sbom/cyclonedx/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o sbom.json .venv-sbom/bin/python

clean:  ## remove what make, tests and servers made in this folder
	rm -rf .venv .venv-sbom .venv-tools sbom.json var staticfiles
