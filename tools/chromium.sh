#!/usr/bin/env bash
# Sees to Chromium, which only the tests of the live page need, on a machine that may have none.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/install.sh

has_chromium() {
    local name
    for name in chromium chromium-browser google-chrome chrome; do command -v "$name" >/dev/null && return; done
    return 1
}

if ! has_chromium; then
    say "the tests of the live page need Chromium and none was found: installing it (a download of about 100 MB, 350 MB on disk)"
    install chromium chromium chromium chromium || true
    has_chromium || say "Chromium could not be installed: the tests in tests/live fail until it is (Debian: apt-get install chromium)"
fi
