#!/usr/bin/env bash
# Sees to a Redis server, which only the tests of the lookup service need, on a machine that may have none.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/install.sh

if ! command -v redis-server >/dev/null; then
    say "the tests of the lookup service need redis-server and none was found: installing it"
    install redis-server redis redis redis || true
    command -v redis-server >/dev/null ||
        say "Redis could not be installed: the tests in tests/serve fail until it is (Debian: apt-get install redis-server)"
fi
