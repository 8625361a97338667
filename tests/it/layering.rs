//! Who may know whom (docs/architecture.md, "The house"), read from the sources.

use std::fs;
use std::path::Path;

/// Something that only some files may name.
struct Rule {
    /// What is wrong when another file names it.
    says: &'static str,
    /// The words, each the beginning of a path in the code.
    words: &'static [&'static str],
    /// Whether this file may.
    may: fn(&str) -> bool,
    /// A line that breaks the rule in `memory/remember.rs`.
    breach: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        says: "only the doors name the web framework",
        words: &["axum::", "axum_extra::", "tower_http::", "tower::"],
        may: is_door,
        breach: "use axum::Router;",
    },
    Rule {
        says: "only the MCP door names its SDK",
        words: &["rmcp::"],
        may: |file| file.starts_with("mcp/"),
        breach: "use rmcp::ServerHandler;",
    },
    Rule {
        says: "only db, lib.rs and stores name sqlx",
        words: &["sqlx::", "sqlx(", "pgvector::"],
        may: |file| file.starts_with("db/") || file == "lib.rs" || is_store(file),
        breach: r#"let rows = sqlx::query!("SELECT 1").fetch_all(pool).await?;"#,
    },
    Rule {
        says: "only kv and the store of working memory name redis",
        words: &["redis::"],
        may: |file| file == "kv.rs" || file.starts_with("kv/") || file == "working/store.rs",
        breach: r#"redis::cmd("PING").exec(&mut connection)?;"#,
    },
    Rule {
        says: "only config.rs reads the environment",
        words: &["std::env", "env::var", "env!(\"DATABASE"],
        may: |file| file == "config.rs",
        breach: r#"let home = std::env::var("HOME");"#,
    },
    Rule {
        says: "only clock.rs reads the time of day",
        words: &["Utc::now", "Local::now", "SystemTime", "UNIX_EPOCH.elapsed"],
        may: |file| file == "clock.rs",
        breach: "let now = chrono::Utc::now();",
    },
    Rule {
        says: "only id.rs makes ids",
        words: &["now_v7", "new_v7", "Uuid::new"],
        may: |file| file == "id.rs",
        breach: "let id = uuid::Uuid::now_v7();",
    },
    Rule {
        says: "errors of every sort at once are for the command line and its telemetry",
        words: &["anyhow"],
        may: |file| file == "main.rs" || file == "telemetry.rs" || file.starts_with("cli/"),
        breach: "pub fn load() -> anyhow::Result<()> {",
    },
    Rule {
        says: "nothing below the doors knows them",
        words: &["crate::http", "crate::rpc", "crate::mcp"],
        may: |file| is_door(file) || is_start(file),
        breach: "use crate::http::RequestId;",
    },
    Rule {
        says: "only the command line works across tenants in its name",
        words: &["OperatorPermit::command_line"],
        may: is_start,
        breach: "let permit = OperatorPermit::command_line();",
    },
    Rule {
        says: "only housekeeping, authentication and db work across tenants in the service's name",
        words: &["OperatorPermit::service"],
        may: |file| SERVICE.iter().any(|place| file.starts_with(place)),
        breach: "let permit = OperatorPermit::service();",
    },
    Rule {
        says: "nobody but main.rs knows the command line",
        words: &["crate::cli", "memtide::cli"],
        may: is_start,
        breach: "use crate::cli::serve;",
    },
    Rule {
        says: "only what starts the service runs its jobs",
        words: &["crate::job::run", "job::tidy"],
        may: |file| is_start(file) || file.starts_with("job/"),
        breach: "crate::job::run(app).await;",
    },
];

/// Where work is done that no caller asked for, or before the caller is known.
const SERVICE: &[&str] = &[
    "auth/",
    "candidate/sweep.rs",
    "db/",
    "event/",
    "idempotency/",
    "job/",
    "limit/",
    "tenant/",
    "memory/access.rs",
    "memory/search/graph.rs",
    "memory/sweep.rs",
    "working/config.rs",
    "working/consolidate.rs",
];

/// What holds algorithms only: values in, values out.
const PURE: &[&str] = &[
    "auth/grant.rs",
    "candidate/key.rs",
    "candidate/policy.rs",
    "candidate/score.rs",
    "candidate/similar.rs",
    "cognitive/prompt.rs",
    "candidate/trust.rs",
    "capture/facts.rs",
    "embed/http/answer.rs",
    "extract/fact.rs",
    "extract/llm/answer.rs",
    "extract/llm/prompt.rs",
    "extract/llm/quote.rs",
    "extract/rules/cue.rs",
    "extract/rules/date.rs",
    "extract/rules/language.rs",
    "extract/rules/mod.rs",
    "extract/rules/sentence.rs",
    "extract/rules/table.rs",
    "extract/secret.rs",
    "extract/secret/card.rs",
    "extract/secret/pattern.rs",
    "job/backoff.rs",
    "mcp/origin.rs",
    "memory/bm25.rs",
    "memory/key.rs",
    "memory/rank.rs",
    "memory/search/vectors.rs",
    "memory/strength.rs",
    "memory/terms.rs",
    "memory/text.rs",
    "memory/token.rs",
    "memory/turn.rs",
    "memory/word.rs",
    "note/date.rs",
    "note/split/export.rs",
    "note/split/line.rs",
    "note/split/mod.rs",
    "note/split/table.rs",
    "working/activation.rs",
    "working/decay.rs",
    "working/gate.rs",
    "working/settings.rs",
];

fn is_door(file: &str) -> bool {
    ["http/", "rpc/", "mcp/"].iter().any(|door| file.starts_with(door))
}

fn is_start(file: &str) -> bool {
    file == "main.rs" || file.starts_with("cli/")
}

fn is_store(file: &str) -> bool {
    file.contains("/store/") || file.ends_with("/store.rs") || file.ends_with("_store.rs")
}

#[test]
fn each_file_names_only_what_its_layer_may() {
    let faults: Vec<String> = sources().iter().flat_map(|(file, text)| breaches(file, text)).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn each_rule_finds_its_breach_and_only_where_it_matters() {
    for rule in RULES {
        assert_eq!(breaches("memory/remember.rs", rule.breach).len(), 1, "{}", rule.says);
        for harmless in
            [format!("/// {}", rule.breach), format!("#[cfg(test)]\nmod tests {{\n{}", rule.breach)]
        {
            assert!(breaches("memory/remember.rs", &harmless).is_empty(), "{harmless}");
        }
    }
    // What follows a test is code again.
    for test in ["mod tests;", "use crate::test;", "mod tests {\n    fn test() {\n    }\n}"] {
        let text = format!("#[cfg(test)]\n{test}\n{}", RULES[0].breach);
        assert_eq!(breaches("memory/remember.rs", &text).len(), 1, "{text}");
    }
    // A domain type may derive how it is stored.
    let derived = "#[derive(Debug, sqlx::Type)]\n#[sqlx(type_name = \"text\")]\nenum Kind {}";
    assert!(breaches("memory/record.rs", derived).is_empty());
}

/// Then the compiler keeps the other domains out.
#[test]
fn a_domains_store_is_its_own() {
    for (file, text) in sources() {
        for line in code(&text).filter(|line| line.contains("mod ")) {
            let words: Vec<&str> = line.split([' ', ';', '{']).filter(|word| !word.is_empty()).collect();
            let is_public = words.first().is_some_and(|word| word.starts_with("pub"));
            let names_store = words.iter().any(|word| *word == "store" || word.ends_with("_store"));
            assert!(!(is_public && names_store), "src/{file} shows its store to others: {line}");
        }
    }
}

#[test]
fn pure_files_wait_for_nothing_and_know_no_service() {
    let sources = sources();
    for pure in PURE {
        let found = sources.iter().find(|(file, _)| file == pure);
        let (_, text) = found.unwrap_or_else(|| panic!("src/{pure} is gone: take it off the list"));
        for word in ["async ", ".await", "crate::app", "crate::db", "crate::kv", "Instant"] {
            assert!(!code(text).any(|line| line.contains(word)), "src/{pure} names {word}");
        }
    }
}

/// The error type is everybody's, so that it drags no library along (R-17).
#[test]
fn the_error_type_names_no_library_of_a_layer() {
    let sources = sources();
    let (_, text) = sources.iter().find(|(file, _)| file == "error.rs").unwrap();
    for library in ["sqlx", "redis", "axum", "http::", "reqwest", "jsonwebtoken"] {
        assert!(!code(text).any(|line| line.contains(library)), "src/error.rs names {library}");
    }
}

/// Only the doors' health check asks the stores themselves; everything else goes through an operation.
#[test]
fn doors_reach_data_through_operations() {
    for (file, text) in sources().iter().filter(|(file, _)| is_door(file) && file != "http/health.rs") {
        for word in ["crate::db", "app.db.begin", "app.kv.", "store::"] {
            assert!(!code(text).any(|line| line.contains(word)), "src/{file} names {word}");
        }
    }
}

/// What no longer fits a few screens is two subjects.
#[test]
fn no_file_is_longer_than_400_lines() {
    for (file, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= 400, "src/{file} has {lines} lines: split it by subject");
    }
}

fn breaches(file: &str, text: &str) -> Vec<String> {
    let rules = RULES.iter().filter(|rule| !(rule.may)(file));
    rules
        .flat_map(|rule| {
            let lines = code(text).filter(|line| !derives(line));
            let breaks = |line: &&str| rule.words.iter().any(|word| names(line, word));
            lines.filter(breaks).map(|line| format!("src/{file}: {}: {line}", rule.says))
        })
        .collect()
}

/// Whether a line names a path that begins with these words, and not one that merely ends with them.
fn names(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

fn derives(line: &str) -> bool {
    let is_trait = ["sqlx::Type", "sqlx::FromRow"].iter().any(|word| line.contains(word));
    (is_trait && line.ends_with([',', ']']) && !line.contains('(')) && !line.starts_with("use ")
        || line.starts_with("#[derive(")
        || line.starts_with("#[sqlx(")
}

/// The lines of a file without comments and without what is only there for tests.
fn code(text: &str) -> impl Iterator<Item = &str> {
    // The line that ends the item left out, once its first line was seen.
    let (mut is_marked, mut end) = (false, None);
    let is_code = move |line: &&str| {
        let indent = &line[..line.len() - line.trim_start().len()];
        if let Some(wanted) = &end {
            if *line == wanted {
                end = None;
            }
            return false;
        }
        if line.trim() == "#[cfg(test)]" {
            is_marked = true;
            return false;
        }
        if is_marked {
            is_marked = line.trim_start().starts_with("#[");
            end = line.ends_with('{').then(|| format!("{indent}}}"));
            return false;
        }
        true
    };
    text.lines().filter(is_code).map(str::trim).filter(|line| !line.starts_with("//"))
}

/// Every source file but those of unit tests, by its path within `src`.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut folders, mut files) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(files.len() > 50, "the sources were not found");
    files
}
