#!/usr/bin/env bash
# Measures the speed of this build beside other things on this machine, on the stack that setup.sh made ready.
# FLOOR=path names a floor program to compare with, PGBENCH=path another pgbench than that of the local stack.
set -euo pipefail

# shellcheck source=scripts/services.sh
. "$(dirname "$0")/services.sh"
cd "$root"

set -a
# shellcheck source=/dev/null
. "$dev/stack.env"
set +a
# shellcheck disable=SC2154 # set by services.sh
pgbench=${PGBENCH:-$pg_bin/pgbench}
[ -x "$pgbench" ] || pgbench=pgbench
exec cargo bench --locked --bench load -- --pgbench "$pgbench" ${FLOOR:+--floor "$FLOOR"} "$@"
