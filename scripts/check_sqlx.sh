#!/usr/bin/env bash
# Checks that .sqlx holds what the query macros find in a freshly migrated database; with --write brings it up to date.
# Needs no sqlx-cli, and no build of the server: a query that .sqlx does not know yet would keep it from building.
set -euo pipefail

# shellcheck source=scripts/services.sh
. "$(dirname "$0")/services.sh"
cd "$root"
# shellcheck source=/dev/null
. "$dev/stack.env"
: "${DATABASE_ADMIN_URL:?is needed to check .sqlx}"

scratch=memtide_sqlx_$$
work=$(mktemp -d)
found=$work/sqlx
mkdir "$found"

clean_up() {
    touch -r "$work/mtime" src/lib.rs
    rm -rf "$work"
    admin_sql postgres <<<"DROP DATABASE IF EXISTS $scratch WITH (FORCE)"
}

# Makes what `memtide migrate` makes, as far as queries can see it.
migrate_scratch() {
    local role
    for role in memtide_owner memtide_operator memtide_backup memtide_app; do
        [ -n "$(admin_sql postgres <<<"SELECT 1 FROM pg_roles WHERE rolname = '$role'")" ] ||
            admin_sql postgres <<<"CREATE ROLE $role NOLOGIN"
    done
    admin_sql postgres <<<"CREATE DATABASE $scratch"
    {
        echo 'SET client_min_messages = warning;'
        echo 'CREATE TABLE _sqlx_migrations (version bigint PRIMARY KEY, description text NOT NULL,'
        echo '    installed_on timestamptz NOT NULL DEFAULT now(), success boolean NOT NULL, checksum bytea NOT NULL,'
        echo '    execution_time bigint NOT NULL);'
        cat migrations/*.sql
    } | admin_sql "$scratch" >/dev/null
}

touch -r src/lib.rs "$work/mtime"
trap clean_up EXIT
migrate_scratch
# The macros run only when the crate is compiled; its old time is given back so that nothing else is built again.
touch src/lib.rs
SQLX_OFFLINE=false SQLX_OFFLINE_DIR=$found DATABASE_URL=${DATABASE_ADMIN_URL%/*}/$scratch cargo check --lib --locked

if [ "${1:-}" = --write ]; then
    rm -rf .sqlx
    cp -r "$found" .sqlx
    say ".sqlx holds $(find .sqlx -name 'query-*.json' | wc -l) queries"
elif ! diff -r "$found" .sqlx; then
    fail ".sqlx is not up to date (above: < as the code has it, > as committed): run make sqlx and commit .sqlx"
fi
