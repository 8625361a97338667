//! In which conversation of a client something was said (D-006 to D-008, D-056).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::memory::draft::check_name;
use crate::memory::text::is_blank;

/// The longest id of a conversation, in bytes (XD-11).
pub const MAX_CONVERSATION_ID_BYTES: usize = 256;
/// The longest title of a conversation, in Unicode scalar values; what is over is cut off (D-008).
pub const MAX_TITLE_CHARS: usize = 200;

/// What a client says of the session it is in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// The conversation, in the client's own terms: at most 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// Its title for people: at most 200 characters; the rest is cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_title: Option<String>,
}

impl Client {
    /// The same as it is stored: blank members are absent, the id without white space around it, the title cut.
    pub fn clean(self) -> Result<Self> {
        let conversation_id = clean_conversation_id("conversation_id", self.conversation_id)
            .map_err(|error| error.inside("client"))?;
        let title = self.conversation_title.map(|title| {
            let title = title.replace('\0', "");
            title.trim().chars().take(MAX_TITLE_CHARS).collect::<String>()
        });
        Ok(Self { conversation_id, conversation_title: title.filter(|title| !is_blank(title)) })
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The id of a conversation without white space around it; one that is blank is none (D-013).
pub fn clean_conversation_id(field: &'static str, id: Option<String>) -> Result<Option<String>> {
    let id = id.map(|id| id.trim().to_owned()).filter(|id| !is_blank(id));
    check_name(field, id.as_deref(), MAX_CONVERSATION_ID_BYTES)?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(id: &str, title: &str) -> Client {
        Client { conversation_id: Some(id.to_owned()), conversation_title: Some(title.to_owned()) }
    }

    #[test]
    fn a_title_is_cut_between_characters_and_never_refused() {
        // D-008, XD-11
        let cleaned = client(" c1 ", &"é".repeat(300)).clean();
        assert_eq!(cleaned.ok(), Some(client("c1", &"é".repeat(200))));
    }

    #[test]
    fn what_is_blank_is_absent() {
        // D-013
        assert!(client(" \t", "\u{200B}").clean().is_ok_and(|client| client.is_empty()));
    }

    #[test]
    fn an_id_has_a_limit_and_no_control_characters() {
        // XD-11
        assert!(client(&"x".repeat(257), "").clean().is_err());
        assert!(client("a\0b", "").clean().is_err());
        assert!(client(&"x".repeat(256), "").clean().is_ok());
    }
}
