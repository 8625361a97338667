//! What makes a record the same one when it is sent again (R-05, R-40, XC-21). Pure.

use sha2::{Digest, Sha256};

use super::text::normal_form;
use super::{Category, Context, Scope};

/// The identity of an active record: no two active records of a namespace have the same.
///
/// A record with a key is known by scope and key; one with a place in a conversation by scope, category and place;
/// any other by scope, category, thread and text. Keys and texts are compared in their normal form, so that nothing but an
/// equal text is ever taken for a duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity([u8; 32]);

impl Identity {
    /// The identity of a record with these fields.
    pub fn of(
        scope: &Scope,
        category: Category,
        key: Option<&str>,
        context: &Context,
        content: &str,
    ) -> Self {
        if let Some(key) = key {
            return Self::of_key(scope, key);
        }
        let category = category.as_str();
        match (&context.thread_id, context.seq) {
            (Some(thread), Some(seq)) => hash(scope, &["turn", category, thread, &seq.to_string()]),
            (thread, _) => {
                let thread = thread.as_deref().unwrap_or_default();
                hash(scope, &["text", category, thread, &normal_form(content)])
            }
        }
    }

    /// The identity of the record with this key.
    pub fn of_key(scope: &Scope, key: &str) -> Self {
        hash(scope, &["key", &normal_form(key)])
    }

    /// The hash, as stored.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Each part is preceded by its length, so that no two lists of parts look alike.
fn hash(scope: &Scope, parts: &[&str]) -> Identity {
    let mut hash = Sha256::new();
    for part in [scope.kind.as_str(), &scope.key].iter().chain(parts) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    Identity(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alice() -> Scope {
        "user:alice".parse().expect("a scope")
    }

    fn text(content: &str) -> Identity {
        Identity::of(&alice(), Category::Custom, None, &Context::default(), content)
    }

    fn turn(thread: &str, seq: i64, content: &str) -> Identity {
        let context = Context { thread_id: Some(thread.to_owned()), seq: Some(seq), ..Context::default() };
        Identity::of(&alice(), Category::Custom, None, &context, content)
    }

    #[test]
    fn equal_texts_are_one_and_close_ones_are_not_r05() {
        assert_eq!(text("Caf\u{e9}  au lait"), text("cafe\u{301} AU lait"));
        let pairs = [
            ("deadline is October 15th", "deadline is October 16th"),
            ("router IP is 192.168.7.1", "router IP is 192.168.9.1"),
            ("v1.2", "v1.3"),
            ("rent 900", "rent 9000"),
            ("likes tea", "likes no tea"),
        ];
        for (one, other) in pairs {
            assert_ne!(text(one), text(other));
        }
    }

    #[test]
    fn turns_are_known_by_their_place_r40() {
        assert_ne!(turn("t", 1, "yes"), turn("t", 2, "yes"));
        assert_eq!(turn("t", 1, "yes"), turn("t", 1, "no"));
        assert_ne!(turn("t1", 2, "yes"), turn("t", 12, "yes"));
    }

    #[test]
    fn keys_are_known_within_their_scope_xc21() {
        let bob: Scope = "user:bob".parse().expect("a scope");
        assert_eq!(Identity::of_key(&alice(), "Editor"), Identity::of_key(&alice(), "editor"));
        assert_ne!(Identity::of_key(&alice(), "editor"), Identity::of_key(&bob, "editor"));
        let keyed = Identity::of(&alice(), Category::Custom, Some("editor"), &Context::default(), "anything");
        assert_eq!(keyed, Identity::of_key(&alice(), "editor"));
    }
}
