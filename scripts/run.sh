#!/usr/bin/env bash
# Builds the server and serves the local stack that setup.sh made ready. Stays in the foreground until ctrl-C; with
# DETACH=1 returns as soon as /readyz answers. PROFILE chooses the cargo profile (dev). Logs go to .dev/server.log.
set -euo pipefail

# shellcheck source=scripts/services.sh
. "$(dirname "$0")/services.sh"
cd "$root"

profile=${PROFILE:-dev}
program=${CARGO_TARGET_DIR:-target}/${profile/#dev/debug}/memtide
log=$dev/server.log

# What the server said last, when it ended by itself.
explain() {
    tail -n 20 "$log" >&2
    fail "the server ended: its last words are above, all of them in $log"
}

is_ready() {
    local status
    { exec 3<>"/dev/tcp/127.0.0.1/$MEMTIDE_PORT"; } 2>/dev/null || return
    printf 'GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
    read -r -t 5 status <&3
    exec 3>&-
    [[ $status == *" 200"* ]]
}

serve_in_background() {
    (
        echo "$BASHPID" >"$dev/server.pid"
        exec setsid "$program" dev >"$dev/server.out" 2>"$log" </dev/null
    ) &
    for _ in $(seq 1200); do
        if is_ready; then
            cat "$dev/server.out"
            say "serving in the background, logs in .dev/server.log, make stop ends it"
            return
        fi
        works_in $! "$root" || explain
        sleep 0.1
    done
    fail "the server runs but is not ready after two minutes: .dev/server.log may say why, make stop ends it"
}

serve_in_foreground() {
    local status=0
    say "logs go to .dev/server.log, ctrl-C ends the server"
    trap : INT # ctrl-C reaches the server as well: wait for its orderly end
    (
        echo "$BASHPID" >"$dev/server.pid"
        exec "$program" dev 2>"$log"
    ) || status=$?
    rm -f "$dev/server.pid"
    [ "$status" -eq 0 ] || [ "$status" -ge 128 ] || explain # above 128: ended by a signal, as asked
    say "the server has stopped; Postgres and Redis run on for a fast start, make stop ends them"
}

if server_runs; then
    say "already serving at port $(cat "$dev/state/port") (see .dev/env); make stop ends it"
    exit
fi
set -a
# shellcheck source=/dev/null
. "$dev/stack.env"
set +a
[ -n "$(free_port "$MEMTIDE_PORT")" ] ||
    fail "port $MEMTIDE_PORT is taken by something else, or is no port: choose another with make run MEMTIDE_PORT=8081"
echo "$MEMTIDE_PORT" >"$dev/state/port"
say "building (the first time takes minutes)"
cargo build --profile "$profile" --locked
[ ! -f "$log" ] || mv "$log" "$log.1"
rm -f "$dev/server.out"
umask 077 # what it prints and writes holds tokens
if [ -n "${DETACH:-}" ]; then serve_in_background; else serve_in_foreground; fi
