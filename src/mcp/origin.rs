//! From which web pages MCP may be spoken (C078). Pure.
//!
//! A browser tells on whose behalf it asks. A page of somebody else could reach a server on its reader's machine, also
//! under a name of its own that it lets point there: the request's `Host` therefore proves nothing.

use reqwest::Url;

use crate::config::Http;
use crate::error::{Error, Result};

/// Names of the machine itself.
const OWN: &[&str] = &["localhost", "127.0.0.1", "[::1]"];

/// Lets in who sends no origin, pages of this machine and of the service's own address, and those that are configured.
pub fn check(config: &Http, origin: Option<&str>) -> Result<()> {
    let Some(origin) = origin else { return Ok(()) };
    let is_listed =
        config.mcp_origins.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin));
    if is_listed || host(origin).is_some_and(|name| is_own(config, &name)) {
        return Ok(());
    }
    Err(Error::Forbidden("this origin may not speak MCP here: see MEMTIDE_MCP_ALLOWED_ORIGINS".into()))
}

fn is_own(config: &Http, name: &str) -> bool {
    OWN.contains(&name) || host(&config.public_url).is_some_and(|own| own == name)
}

fn host(url: &str) -> Option<String> {
    Url::parse(url).ok()?.host_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn own_pages_and_listed_ones_are_let_in_c078() {
        let config = Http {
            address: ([127, 0, 0, 1], 0).into(),
            metrics_address: None,
            public_url: "https://memory.example.com".to_owned(),
            access_token: None,
            mcp_origins: vec!["https://app.example.org".to_owned()],
            socket_idle: Duration::from_mins(1),
            socket_slow: Duration::from_secs(20),
        };
        for origin in [
            "http://localhost:3000",
            "http://127.0.0.1",
            "http://[::1]:8080",
            "https://memory.example.com",
            "https://app.example.org",
        ] {
            assert!(check(&config, Some(origin)).is_ok(), "{origin}");
        }
        for origin in [
            "https://evil.example.org",
            "https://app.example.org.evil.com",
            "http://app.example.org",
            "https://memory.example.com.evil.com",
            "http://localhost.evil.com",
            "null",
            "",
        ] {
            assert!(check(&config, Some(origin)).is_err(), "{origin}");
        }
        assert!(check(&config, None).is_ok());
        let open = Http { mcp_origins: vec!["*".to_owned()], ..config };
        assert!(check(&open, Some("https://evil.example.org")).is_ok());
    }
}
