//! What a model answers, trusted in nothing. Pure.

use serde::Deserialize;
use serde_json::error::Category as Wrong;

use crate::candidate::word::{Attribute, Certainty, Durability, Explicitness, SensitivityHint, Subject};
use crate::extract::ItemKind;
use crate::memory::Category;

/// Of one part of a text; more is no selection.
const MAX_FACTS: usize = 128;

const MAX_QUOTE_BYTES: usize = 2_000;

/// The envelope, of which providers make more than is asked for.
#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
}

/// What the schema demands, and nothing more.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    facts: Vec<Found>,
}

/// A sentence that a model points at, and how it would file it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Found {
    pub quote: String,
    pub kind: ItemKind,
    pub category: Category,
    pub subject: Subject,
    pub attribute: Attribute,
    pub durability: Durability,
    pub sensitivity: SensitivityHint,
    pub certainty: Certainty,
    pub explicitness: Explicitness,
    pub importance: f64,
}

/// The facts that an answer names. What is wrong with it is told without a word of it.
pub(super) fn read(body: &str) -> Result<Vec<Found>, String> {
    let completion: Completion = serde_json::from_str(body).map_err(|error| wrong(&error))?;
    let [choice] = completion.choices.as_slice() else {
        return Err(format!("it gave {} choices", completion.choices.len()));
    };
    if !matches!(choice.finish_reason.as_deref(), None | Some("stop")) {
        return Err("it did not come to an end".to_owned());
    }
    let content = choice.message.content.as_deref().ok_or("it said nothing")?;
    let answer: Answer = serde_json::from_str(content).map_err(|error| wrong(&error))?;
    if answer.facts.len() > MAX_FACTS {
        return Err(format!("it named {} facts", answer.facts.len()));
    }
    let is_bad =
        |found: &Found| found.quote.len() > MAX_QUOTE_BYTES || !(0.0..=1.0).contains(&found.importance);
    if answer.facts.iter().any(is_bad) {
        return Err("a fact is out of its limits".to_owned());
    }
    Ok(answer.facts)
}

/// Serde's own words would repeat the answer's.
fn wrong(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        Wrong::Data => "is not of the form that was asked for",
        Wrong::Io | Wrong::Syntax | Wrong::Eof => "is not JSON",
    };
    format!("its answer {what} (line {}, column {})", error.line(), error.column())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn fact() -> Value {
        json!({
            "quote": "I live in Oslo.", "kind": "fact", "category": "biography", "subject": "current_user",
            "attribute": "custom", "durability": "long_lived", "sensitivity": "personal", "certainty": "high",
            "explicitness": "explicit", "importance": 0.5,
        })
    }

    fn with(name: &str, value: Value) -> Value {
        let mut fact = fact();
        fact[name] = value;
        json!({ "facts": [fact] })
    }

    fn body(answer: &Value) -> String {
        json!({ "id": "x", "choices": [{ "index": 0, "finish_reason": "stop",
            "message": { "role": "assistant", "content": answer.to_string() } }], "usage": {} })
        .to_string()
    }

    #[test]
    fn an_answer_is_read_as_it_was_asked_for() {
        let found = read(&body(&json!({ "facts": [fact()] }))).expect("is right");
        assert_eq!((found.len(), found[0].quote.as_str()), (1, "I live in Oslo."));
        assert_eq!(read(&body(&json!({ "facts": [] }))), Ok(Vec::new()));
    }

    #[test]
    fn anything_else_is_a_fault_that_repeats_nothing() {
        let mut less = fact();
        less.as_object_mut().expect("an object").remove("kind");
        let good = body(&json!({ "facts": [fact()] }));
        let bodies = [
            String::new(),
            "<html>marker</html>".to_owned(),
            json!({ "error": { "message": "marker" } }).to_string(),
            json!({ "choices": [] }).to_string(),
            json!({ "choices": [{ "message": { "content": null } }] }).to_string(),
            json!({ "choices": [{ "message": { "content": "marker, here you are: {}" } }] }).to_string(),
            good.replace("\"stop\"", "\"length\""),
            body(&json!([fact()])),
            body(&json!({ "facts": [fact()], "marker": 1 })),
            body(&json!({ "facts": [less] })),
            body(&json!({ "facts": vec![fact(); MAX_FACTS + 1] })),
            body(&with("marker", json!(1))),
            body(&with("kind", json!("marker"))),
            body(&with("category", json!("marker"))),
            body(&with("importance", json!(1.5))),
            body(&with("importance", json!("marker"))),
            body(&with("quote", json!("x".repeat(MAX_QUOTE_BYTES + 1)))),
        ];
        for body in bodies {
            let reason = read(&body).expect_err(&body);
            assert!(!reason.contains("marker"), "{reason}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_causes_a_panic(text in "[\\[\\]{}\":,a-z0-9 .-]{0,60}") {
            let _ = read(&text);
            let _ = read(&body(&json!(text)));
        }
    }
}
