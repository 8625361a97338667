#!/usr/bin/env bash
# Ends what this clone started: the server, then Postgres and Redis. Data stays for the next start.
set -euo pipefail

# shellcheck source=scripts/services.sh
. "$(dirname "$0")/services.sh"

if server_runs; then
    say "stopping the server"
    end_process "$(cat "$dev/server.pid")" "$root"
fi
rm -f "$dev/server.pid"
stop_local_services # whatever the stack is now: it may have been another before
if [ "$(cat "$dev/state/stack" 2>/dev/null || true)" = docker ]; then
    stop_docker_services
fi
