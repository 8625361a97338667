use super::*;

fn env(extra: &'static [(&'static str, &'static str)]) -> impl Fn(&str) -> Option<String> {
    let base = [
        ("DATABASE_URL", "postgres://memtide_app:hunter2@localhost/memtide"),
        ("REDIS_URL", "redis://localhost"),
        ("MEMTIDE_SECRET", "0123456789abcdef0123456789abcdef"),
    ];
    move |name| {
        let found = extra.iter().chain(&base).find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    }
}

#[test]
fn the_defaults_need_three_values() {
    let config = Config::read(env(&[])).expect("three values are enough");
    assert_eq!(config.http.address.to_string(), "127.0.0.1:8080");
    assert_eq!(config.http.public_url, "http://127.0.0.1:8080");
    assert!(config.telemetry.json && !config.local);
    assert!(!config.redis.is_cluster && config.redis.prefix.is_empty());
}

#[test]
fn a_cluster_is_named_by_some_of_its_nodes() {
    let config = Config::read(env(&[
        ("MEMTIDE_REDIS_CLUSTER", "1"),
        ("REDIS_URL", "redis://:p@one:1, rediss://:p@two:2"),
        ("MEMTIDE_REDIS_PREFIX", "stage:"),
    ]))
    .expect("is right");
    let urls: Vec<&str> = config.redis.urls.iter().map(Secret::expose).collect();
    assert_eq!(
        (urls, config.redis.prefix.as_str()),
        (vec!["redis://:p@one:1", "rediss://:p@two:2"], "stage:")
    );
    for wrong in [("REDIS_URL", "redis://one:1,http://two:2"), ("MEMTIDE_REDIS_PREFIX", "a{b}")] {
        let variables = [wrong, ("MEMTIDE_REDIS_CLUSTER", "1")];
        let env = env(&[]);
        let read = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned()).or_else(|| env(name))
        };
        assert!(Config::read(read).is_err(), "{wrong:?}");
    }
}

#[test]
fn every_fault_is_named_at_once_and_no_secret_is_shown() {
    let faults = Config::read(env(&[
        ("DATABASE_URL", "mysql://root:hunter2@localhost"),
        ("REDIS_URL", ""),
        ("MEMTIDE_SECRET", "short-hunter2"),
        ("MEMTIDE_PORT", "99999"),
        ("MEMTIDE_DB_POOL", "0"),
        ("MEMTIDE_LOG_FORMAT", "xml"),
        ("MEMTIDE_EXTRACTOR", "llm"),
        ("MEMTIDE_LLM_URL", "ftp://hunter2"),
        ("MEMTIDE_LLM_KEY", "hunter2 ß"),
        ("MEMTIDE_LLM_TIMEOUT_MS", "0"),
    ]))
    .expect_err("nine faults")
    .to_string();
    let names = "DATABASE_URL REDIS_URL MEMTIDE_SECRET MEMTIDE_PORT MEMTIDE_DB_POOL xml MEMTIDE_LLM_URL \
        MEMTIDE_LLM_KEY MEMTIDE_LLM_TIMEOUT_MS";
    for name in names.split(' ') {
        assert!(faults.contains(name), "{name} is not in {faults}");
    }
    assert!(!faults.contains("hunter2"));
}

#[test]
fn a_bridge_needs_a_token_and_knows_where_a_local_stack_is() {
    let read = |set: &'static [(&str, &str)]| {
        Bridge::read(move |name| {
            set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    };
    let bridge = read(&[("MEMTIDE_MCP_TOKEN", "mt_pat_x")]).expect("a token is enough");
    assert_eq!((bridge.url.as_str(), bridge.token.expose()), ("http://127.0.0.1:8080", "mt_pat_x"));
    let bridge = read(&[("MEMTIDE_URL", "https://m.example/"), ("MEMTIDE_CAPABILITY", "a.b.c")]);
    assert_eq!(bridge.expect("a capability serves too").url, "https://m.example");
    assert!(read(&[]).is_err() && read(&[("MEMTIDE_MCP_TOKEN", "t"), ("MEMTIDE_URL", "ftp://x")]).is_err());
}
