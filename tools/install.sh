# How tools/setup.sh, tools/chromium.sh and tools/redis.sh install packages of the system. What package managers say goes to a file.
say() { printf 'set-up: %s\n' "$*" >&2; }
stop() { say "$*"; exit 1; }

log=build/setup.txt
mkdir -p build

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo -n "$@"; else return 1; fi
}

# install DEBIAN FEDORA ALPINE BREW: each manager has its own name for a package
install() {
    # make runs several scripts at once, and package managers refuse to
    if command -v flock >/dev/null; then exec 9>build/install.lock && flock 9; fi
    if command -v apt-get >/dev/null; then as_root apt-get -qq update && as_root apt-get -qq install -y "$1"
    elif command -v dnf >/dev/null; then as_root dnf -q install -y "$2"
    elif command -v apk >/dev/null; then as_root apk add -q "$3"
    elif command -v brew >/dev/null; then brew install -q "$4"
    else return 1; fi 9>&- >>"$log" 2>&1 || { tail -n 20 "$log" >&2; return 1; }
}
