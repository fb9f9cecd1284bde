#!/usr/bin/env bash
# Makes .venv-dist with what builds and checks a release.
set -euo pipefail
cd "$(dirname "$0")/.."

printf 'set-up: making .venv-dist\n' >&2
rm -rf .venv-dist
"${PYTHON:-python3}" -m venv .venv-dist
.venv-dist/bin/python -m pip install --quiet --disable-pip-version-check --requirement tools/requirements-dist.txt
touch .venv-dist/ready
