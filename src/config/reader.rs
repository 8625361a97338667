//! Reading values one by one, and gathering what is wrong with them.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::{HTTP, Redis, Secret};
use crate::embed::{EmbedConfig, HttpConfig, LocalConfig};
use crate::extract::ExtractConfig;
use crate::extract::llm::LlmConfig;
use crate::tenant::Limits;

/// An environment, and what was found wrong with it so far.
pub(super) struct Reader<'a> {
    get: &'a dyn Fn(&str) -> Option<String>,
    pub(super) faults: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(get: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { get, faults: Vec::new() }
    }

    /// Unset and empty are the same, as in a compose file that passes on an unset variable.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        (self.get)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    pub(super) fn optional<T: FromStr<Err: fmt::Display>>(&mut self, name: &str) -> Option<T> {
        match self.text(name)?.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.faults.push(format!("{name}: {error}"));
                None
            }
        }
    }

    /// Values between commas.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        let text = self.text(name).unwrap_or_default();
        let values = text.split(',').map(|value| value.trim().trim_end_matches('/').to_owned());
        values.filter(|value| !value.is_empty()).collect()
    }

    pub(super) fn or<T: FromStr<Err: fmt::Display>>(&mut self, name: &str, default: T) -> T {
        self.optional(name).unwrap_or(default)
    }

    pub(super) fn within<T: FromStr<Err: fmt::Display> + PartialOrd + fmt::Display + Copy>(
        &mut self,
        name: &str,
        default: T,
        least: T,
        most: T,
    ) -> T {
        let value = self.or(name, default);
        if value < least || value > most {
            self.faults.push(format!("{name}: {value} is outside of {least} to {most}"));
        }
        value
    }

    pub(super) fn seconds(&mut self, name: &str, default: u64) -> Duration {
        Duration::from_secs(self.within(name, default, 3, 3_600))
    }

    /// The first of the choices is the default.
    pub(super) fn one_of(&mut self, name: &str, choices: &[&'static str]) -> &'static str {
        let Some(text) = self.text(name) else { return choices[0] };
        choices.iter().find(|&&choice| choice == text).copied().unwrap_or_else(|| {
            self.faults.push(format!("{name}: {text:?} is none of {}", choices.join(", ")));
            choices[0]
        })
    }

    pub(super) fn url(&mut self, name: &str, schemes: &[&str]) -> Secret {
        if self.text(name).is_none() {
            self.faults.push(format!("{name}: is not set"));
        }
        Secret(self.optional_url(name, schemes).unwrap_or_default())
    }

    pub(super) fn redis(&mut self) -> Redis {
        let is_cluster = self.one_of("MEMTIDE_REDIS_CLUSTER", &["0", "1"]) == "1";
        let text = self.text("REDIS_URL").unwrap_or_default();
        let urls: Vec<&str> = if is_cluster { text.split(',').map(str::trim).collect() } else { vec![&text] };
        if text.is_empty() {
            self.faults.push("REDIS_URL: is not set".to_owned());
        } else {
            for url in &urls {
                self.check_url("REDIS_URL", url, &["redis", "rediss"]);
            }
        }
        let prefix = self.or("MEMTIDE_REDIS_PREFIX", String::new());
        // A brace would decide which node of a Cluster holds the key.
        if !prefix.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b)) {
            self.faults.push("MEMTIDE_REDIS_PREFIX: may hold letters, digits and -_.: only".to_owned());
        }
        Redis { urls: urls.into_iter().map(Secret::new).collect(), is_cluster, prefix }
    }

    pub(super) fn optional_url(&mut self, name: &str, schemes: &[&str]) -> Option<String> {
        let text = self.text(name)?;
        self.check_url(name, &text, schemes);
        Some(text)
    }

    /// The fault does not repeat the value: it may hold a password.
    pub(super) fn check_url(&mut self, name: &str, text: &str, schemes: &[&str]) {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        if !scheme.is_some_and(|scheme| schemes.contains(&scheme)) {
            self.faults.push(format!("{name}: does not start with {}://", schemes.join(":// or ")));
        } else if let Err(error) = reqwest::Url::parse(text) {
            self.faults.push(format!("{name}: {error}"));
        }
    }

    pub(super) fn filter(&mut self, name: &str) -> String {
        let filter = self.or(name, "info".to_owned());
        if let Err(error) = tracing_subscriber::EnvFilter::try_new(&filter) {
            self.faults.push(format!("{name}: {error}"));
        }
        filter
    }

    pub(super) fn embedding(&mut self, cores: u32) -> EmbedConfig {
        match self.one_of("MEMTIDE_EMBEDDER", &["local", "http", "off"]) {
            "off" => EmbedConfig::Off,
            "http" => EmbedConfig::Http(HttpConfig {
                base_url: self
                    .optional_url("MEMTIDE_EMBED_URL", HTTP)
                    .unwrap_or_else(|| "https://api.openai.com".to_owned()),
                key: self.header("MEMTIDE_EMBED_KEY"),
                model: self.or("MEMTIDE_EMBED_MODEL", "text-embedding-3-small".to_owned()),
                dimensions: self.within("MEMTIDE_EMBED_DIMENSIONS", 1_536, 1, 4_000),
                batch: self.within("MEMTIDE_EMBED_BATCH", 64, 1, 2_048),
                timeout: Duration::from_millis(self.within("MEMTIDE_EMBED_TIMEOUT_MS", 5_000, 1, 60_000)),
                retries: self.within("MEMTIDE_EMBED_RETRIES", 2, 0, 10),
            }),
            _ => EmbedConfig::Local(LocalConfig {
                model_dir: self.or("MEMTIDE_MODEL_DIR", PathBuf::from(".dev/model")),
                // One core is left to the rest, unless it is half of all: of two, both embed a third more than one.
                workers: self.within("MEMTIDE_EMBED_WORKERS", (cores.max(3) - 1).min(cores) as usize, 1, 256),
            }),
        }
    }

    /// 0 stands for no limit.
    pub(super) fn tenant_limits(&mut self, local: bool) -> Limits {
        let mut most = |name: &str, usual: u32| {
            let count = self.or(name, if local { 0 } else { usual });
            (count > 0).then_some(count)
        };
        Limits {
            requests_per_second: most("MEMTIDE_TENANT_REQUESTS_PER_SECOND", 50),
            burst: most("MEMTIDE_TENANT_BURST", 100),
            max_in_flight: most("MEMTIDE_TENANT_MAX_IN_FLIGHT", 16),
            ..Limits::default()
        }
    }

    pub(super) fn extraction(&mut self) -> ExtractConfig {
        if self.one_of("MEMTIDE_EXTRACTOR", &["rules", "llm"]) == "rules" {
            return ExtractConfig::Rules;
        }
        let milliseconds = |number: u32| Duration::from_millis(number.into());
        ExtractConfig::Llm(LlmConfig {
            base_url: self
                .optional_url("MEMTIDE_LLM_URL", HTTP)
                .unwrap_or_else(|| "https://api.openai.com".to_owned()),
            key: self.header("MEMTIDE_LLM_KEY"),
            model: self.or("MEMTIDE_LLM_MODEL", "gpt-4.1-mini".to_owned()),
            timeout: milliseconds(self.within("MEMTIDE_LLM_TIMEOUT_MS", 30_000, 1, 600_000)),
            deadline: milliseconds(self.within("MEMTIDE_LLM_DEADLINE_MS", 90_000, 1, 3_600_000)),
            retries: self.within("MEMTIDE_LLM_RETRIES", 2, 0, 10),
            window_tokens: self.within("MEMTIDE_LLM_WINDOW_TOKENS", 6_000, 100, 1_000_000),
            answer_tokens: self.within("MEMTIDE_LLM_ANSWER_TOKENS", 4_000, 100, 100_000),
        })
    }

    /// A secret that goes into a header, which carries visible ASCII only.
    pub(super) fn header(&mut self, name: &str) -> Option<Secret> {
        let text = self.text(name)?;
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            self.faults.push(format!("{name}: holds characters that a header cannot carry"));
        }
        Some(Secret(text))
    }

    pub(super) fn secret(&mut self, name: &str, least_bytes: usize) -> Secret {
        let text = self.text(name).unwrap_or_default();
        if text.len() < least_bytes {
            self.faults.push(format!("{name}: needs at least {least_bytes} bytes, has {}", text.len()));
        }
        Secret(text)
    }
}
