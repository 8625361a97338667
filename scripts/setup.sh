#!/usr/bin/env bash
# Makes ready what the server needs and does not contain: Postgres with pgvector, Redis, the embedding model.
# Safe to run again at any time. Leaves .dev/stack.env (what the server reads) and .dev/test.env (what the tests read).
#
#   MEMTIDE_STACK=external   services of your own: DATABASE_URL and REDIS_URL (chosen when both are set)
#   MEMTIDE_STACK=docker     containers from docker-compose.yml (chosen when `docker info` answers)
#   MEMTIDE_STACK=local      Postgres from a Python wheel, Redis as installed or else Valkey from a wheel
#
# MEMTIDE_PORT, MEMTIDE_PG_PORT and MEMTIDE_REDIS_PORT choose ports, MEMTIDE_MODEL_DIR a model that is already there.
set -euo pipefail

# shellcheck source=scripts/services.sh
. "$(dirname "$0")/services.sh"

# Installs the Debian packages of what is missing, or says how to: a fresh system has neither pip nor a linker.
check_tools() {
    local missing=()
    command -v python3 >/dev/null || missing+=(python3)
    python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip)
    command -v make >/dev/null || missing+=(make)
    command -v curl >/dev/null || missing+=(curl)
    cc -x c -o /dev/null - <<<'int main(void) { return 0; }' 2>/dev/null || missing+=(gcc libc6-dev)
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
        say "installing ${missing[*]}"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    else
        fail "missing: ${missing[*]}. On Debian: sudo apt-get install -y ${missing[*]}"
    fi
}

make_dev_folder() {
    mkdir -p "$dev/state"
    [ -O "$dev" ] || fail "$dev belongs to $(stat -c %U "$dev"): run as that user, or remove it"
    chmod 700 "$dev/state"
    exec 9>"$dev/lock"
    flock 9 # make run and make test may be started together
}

# Prints which kind of stack to use.
choose_stack() {
    local own
    own=$(cat "$dev/state/app_password" 2>/dev/null || echo none)
    if [ -n "${MEMTIDE_STACK:-}" ]; then
        echo "$MEMTIDE_STACK"
    elif [ -n "${DATABASE_URL:-}" ] && [ -n "${REDIS_URL:-}" ] && [[ $DATABASE_URL != *":$own@"* ]]; then
        echo external # not what somebody read from our own stack.env into the shell
    elif docker_answers; then
        echo docker
    else
        echo local
    fi
}

create_database() {
    [ "$(admin_sql postgres <<<"SELECT 1 FROM pg_database WHERE datname = 'memtide'")" = 1 ] ||
        admin_sql postgres <<<"CREATE DATABASE memtide"
}

# Fetches the model unless another embedder or another folder is wanted; sets MEMTIDE_MODEL_DIR.
prepare_model() {
    MEMTIDE_MODEL_DIR=${MEMTIDE_MODEL_DIR:-$dev/model}
    [ "$MEMTIDE_MODEL_DIR" = "$dev/model" ] && [ "${MEMTIDE_EMBEDDER:-local}" = local ] || return 0
    [ ! -s "$dev/model/model.safetensors" ] || return 0
    say "fetching the embedding model (84 MB)"
    "$root/scripts/fetch_model.sh" "$dev/model"
}

# Writes NAME='value' lines, for shells to source, into a file that only its owner reads: write_env FILE NAME…
write_env() {
    local file=$1 name
    shift
    (
        umask 077
        for name in "$@"; do
            [ -z "${!name:-}" ] || printf '%s=%q\n' "$name" "${!name}"
        done >"$file.new"
    )
    mv "$file.new" "$file"
}

check_tools
make_dev_folder
stack=$(choose_stack)
echo "$stack" >"$dev/state/stack"
say "services: $stack (MEMTIDE_STACK=external, docker or local chooses)"
case $stack in
    external)
        : "${DATABASE_URL:?DATABASE_URL must be set for MEMTIDE_STACK=external}"
        : "${REDIS_URL:?REDIS_URL must be set for MEMTIDE_STACK=external}"
        [ -n "${DATABASE_ADMIN_URL:-}" ] ||
            say "DATABASE_ADMIN_URL is not set: the tests cannot run, and roles and migrations must be there already"
        test_redis=$REDIS_URL
        ;;
    docker | local)
        [ "$stack" = local ] || docker_answers || fail "MEMTIDE_STACK=docker, but docker compose does not answer"
        "start_${stack}_services"
        create_database
        host=127.0.0.1:$(cat "$dev/state/postgres_port")
        DATABASE_URL=postgres://memtide_app:$(remembered app_password random_secret)@$host/memtide
        DATABASE_ADMIN_URL=postgres://postgres:$(cat "$dev/state/pg_password")@$host/memtide
        REDIS_URL=redis://:$(cat "$dev/state/redis_password")@127.0.0.1:$(cat "$dev/state/redis_port")/0
        test_redis=${REDIS_URL%/0}/1 # tests never share keys with a server
        ;;
    *) fail "MEMTIDE_STACK=$stack is unknown: external, docker or local" ;;
esac
prepare_model
MEMTIDE_SECRET=${MEMTIDE_SECRET:-$(remembered secret random_secret)}
MEMTIDE_PORT=${MEMTIDE_PORT:-$(remembered port echo 8080)} # run.sh remembers another once it serves there
# shellcheck disable=SC2034 # used by name
MEMTIDE_LOCAL=1
write_env "$dev/stack.env" DATABASE_URL DATABASE_ADMIN_URL REDIS_URL MEMTIDE_SECRET MEMTIDE_MODEL_DIR MEMTIDE_PORT MEMTIDE_LOCAL
REDIS_URL=$test_redis
# shellcheck disable=SC2034 # used by name; some tests kill a Postgres of their own, which takes its programs
if [ "$stack" = local ]; then
    MEMTIDE_TEST_PG_BIN=$pg_bin
elif [ -z "${MEMTIDE_TEST_PG_BIN:-}" ]; then
    # shellcheck disable=SC2034
    MEMTIDE_TEST_SKIP_PG=1
    say "the tests that kill a Postgres are skipped: MEMTIDE_TEST_PG_BIN names no folder of its programs"
fi
# shellcheck disable=SC2034 # used by name; some tests start Redis servers of their own, and a Cluster
MEMTIDE_TEST_REDIS_SERVER=$(test_redis_server)
if [ -z "$MEMTIDE_TEST_REDIS_SERVER" ]; then
    # shellcheck disable=SC2034
    MEMTIDE_TEST_SKIP_REDIS=1
    say "the tests that start a Redis of their own are skipped: MEMTIDE_TEST_REDIS_SERVER names no redis-server"
fi
write_env "$dev/test.env" DATABASE_URL DATABASE_ADMIN_URL REDIS_URL MEMTIDE_MODEL_DIR MEMTIDE_TEST_PG_BIN \
    MEMTIDE_TEST_SKIP_PG MEMTIDE_TEST_REDIS_SERVER MEMTIDE_TEST_SKIP_REDIS
say "services are ready"
