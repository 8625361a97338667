# shellcheck shell=bash
# The services of this clone and what belongs to them, all under .dev/. Sourced by the other scripts, not run.
shopt -s inherit_errexit

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
dev=$root/.dev

say() { printf 'memtide: %s\n' "$*" >&2; }

fail() {
    say "$@"
    exit 1
}

# Prints what is remembered under a name; the first time, what the given command prints: remembered NAME COMMAND…
remembered() {
    local file=$dev/state/$1
    shift
    [ -s "$file" ] || "$@" >"$file"
    cat "$file"
}

random_secret() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }

# Prints the wanted port if a server can listen there, else nothing; for 0 a port of the system's choice.
free_port() {
    python3 - "$1" <<'PYTHON'
import socket, sys
with socket.socket() as s:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        s.bind(("127.0.0.1", int(sys.argv[1])))
    except (OSError, OverflowError, ValueError):
        sys.exit()
    print(s.getsockname()[1])
PYTHON
}

# Chooses and remembers the port of a service about to start: what the environment wants, what it had before, the
# default, or any free one: choose_port NAME VARIABLE DEFAULT
choose_port() {
    local name=$1 variable=$2 file=$dev/state/$1_port port
    local wanted=${!variable:-}
    if [ -n "$wanted" ]; then
        port=$(free_port "$wanted")
        [ -n "$port" ] || fail "port $wanted ($variable) is taken by something else, or is no port: choose another"
    else
        wanted=$(cat "$file" 2>/dev/null || echo "$3")
        port=$(free_port "$wanted")
        if [ -z "$port" ]; then
            port=$(free_port 0)
            say "port $wanted is taken by something else: $name goes to $port"
        fi
    fi
    echo "$port" >"$file"
    echo "$port"
}

# Refuses to go on when a running service is wanted at another port: same_port NAME VARIABLE
same_port() {
    local has
    has=$(cat "$dev/state/$1_port")
    [ "${!2:-$has}" = "$has" ] || fail "$1 already runs at port $has, not at ${!2} ($2): make stop first"
}

# Whether the process is alive and works in the folder: a number in a pid file may have gone to a stranger since.
works_in() { kill -0 "$1" 2>/dev/null && { [ ! -d /proc/self ] || [ "/proc/$1/cwd" -ef "$2" ]; }; }

# Ends a process that works in a folder and waits until it is gone, at most 20 seconds: end_process PID FOLDER
end_process() {
    kill "$1" 2>/dev/null || return 0
    for _ in $(seq 200); do
        works_in "$1" "$2" || return 0
        sleep 0.1
    done
    kill -KILL "$1"
}

server_runs() {
    local pid
    pid=$(cat "$dev/server.pid" 2>/dev/null) && works_in "$pid" "$root"
}

docker_answers() {
    command -v docker >/dev/null && timeout 10 docker info >/dev/null 2>&1 && docker compose version >/dev/null 2>&1
}

# The clone's own compose project: folders of the same name elsewhere do not share its volumes.
compose() {
    POSTGRES_PASSWORD=$(cat "$dev/state/pg_password") REDIS_PASSWORD=$(cat "$dev/state/redis_password") \
        MEMTIDE_PG_PORT=$(cat "$dev/state/postgres_port") MEMTIDE_REDIS_PORT=$(cat "$dev/state/redis_port") \
        docker compose -p "memtide-$(printf %s "$root" | cksum | cut -d ' ' -f 1)" \
        -f "$root/docker-compose.yml" -f "$root/scripts/publish-ports.yml" "$@" 9>&-
}

start_docker_services() {
    local password
    password=$(remembered pg_password random_secret)
    remembered redis_password random_secret >/dev/null
    if [ -s "$dev/state/postgres_port" ] && [ -n "$(compose ps --status running --quiet postgres)" ]; then
        same_port postgres MEMTIDE_PG_PORT
        same_port redis MEMTIDE_REDIS_PORT
    else
        choose_port postgres MEMTIDE_PG_PORT 15432 >/dev/null
        choose_port redis MEMTIDE_REDIS_PORT 16379 >/dev/null
    fi
    say "starting Postgres and Redis in Docker"
    compose up --detach --wait postgres redis
    # An image takes the password only when its volume is new, and the volume may be older than .dev.
    admin_sql postgres <<<"ALTER ROLE postgres PASSWORD '$password'"
}

stop_docker_services() { compose stop postgres redis; }

# shellcheck source=scripts/postgres.sh
. "$root/scripts/postgres.sh"
# shellcheck source=scripts/redis.sh
. "$root/scripts/redis.sh"

start_local_services() {
    start_postgres
    start_redis
}

stop_local_services() {
    stop_redis
    stop_postgres
}

# Tells psql through its environment what DATABASE_ADMIN_URL says: its arguments are seen by everybody on the machine.
admin_login() {
    local variables
    variables=$(python3 - 3<<<"$DATABASE_ADMIN_URL" <<'PYTHON'
import os, shlex, urllib.parse
url = urllib.parse.urlsplit(os.fdopen(3).read().strip())
found = {"PGHOST": url.hostname, "PGPORT": str(url.port or ""), "PGUSER": url.username, "PGPASSWORD": url.password}
found = {name: urllib.parse.unquote(value) for name, value in found.items() if value}
for name, value in urllib.parse.parse_qsl(url.query):
    found["PG" + name.replace("_", "").upper()] = value
for name, value in found.items():
    print(f"export {name}={shlex.quote(value)}")
PYTHON
    )
    eval "$variables"
}

# Runs SQL from standard input as the superuser and prints the bare result: admin_sql DATABASE
admin_sql() {
    local psql=(psql --no-psqlrc --quiet --tuples-only --no-align -v ON_ERROR_STOP=1 -d "$1")
    case $(cat "$dev/state/stack") in
        local) PGPASSWORD=$(cat "$dev/state/pg_password") "$pg_bin/${psql[0]}" "${psql[@]:1}" -h 127.0.0.1 -p "$(cat "$dev/state/postgres_port")" -U postgres ;;
        docker) compose exec -T postgres "${psql[@]}" -U postgres ;;
        external) (admin_login && exec "${psql[@]}") ;;
    esac
}
