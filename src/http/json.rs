//! Strict JSON (R-08, R-43, R-58): what it refuses beyond what `serde_json` does, and how it says so.

use serde::de::DeserializeOwned;

use crate::error::{Error, Fault, Result};

/// How names begin that are not for clients.
const RESERVED: &str = "$serde_json::";

/// How deep values may be nested.
pub const MAX_DEPTH: usize = 64;

/// Decodes a body into a type.
///
/// JSON that is broken, nested too deep, or holds a number that would be changed is `Invalid`; JSON that does not fit
/// the type is `Unprocessable`; a value that fits and breaks its type's rule is `Invalid`.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    decode_within(body, MAX_DEPTH)
}

/// The same for a body that may be nested deeper, because a value of [`MAX_DEPTH`] stands inside it.
pub fn decode_within<T: DeserializeOwned>(body: &[u8], max_depth: usize) -> Result<T> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    check_tokens(body, max_depth)?;
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let strict = super::strict::Strict::new(&mut deserializer);
    let value = serde_path_to_error::deserialize(strict).map_err(|error| {
        let field = error.path().to_string();
        // What does not fit may stand before the place where the JSON breaks.
        if let Some(reason) = broken(body) {
            return Error::invalid("", format!("the body is not valid JSON: {reason}"));
        }
        refuse(if field == "." { String::new() } else { field }, &error.into_inner())
    })?;
    deserializer.end().map_err(|error| refuse(String::new(), &error))?;
    Ok(value)
}

/// Why a body is no JSON at all, if it is none.
fn broken(body: &[u8]) -> Option<String> {
    match std::str::from_utf8(body) {
        Ok(text) => serde_json::from_str::<serde::de::IgnoredAny>(text).err().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

fn refuse(field: String, error: &serde_json::Error) -> Error {
    if !error.is_data() {
        return Error::invalid("", format!("the body is not valid JSON: {error}"));
    }
    // The place that serde_json adds means nothing to somebody who sees a field's name.
    let text = error.to_string();
    let rule = text.rsplit_once(" at line ").map_or(text.as_str(), |(rule, _)| rule).to_owned();
    let misfit = [
        "invalid type",
        "missing field",
        "unknown field",
        "duplicate field",
        "invalid length",
        "invalid value",
    ];
    let is_misfit = misfit.iter().any(|start| rule.starts_with(start));
    let field = match member(&rule) {
        Some(member) if field.is_empty() => member.to_owned(),
        Some(member) if field != member && !field.ends_with(&format!(".{member}")) => {
            format!("{field}.{member}")
        }
        _ => field,
    };
    let fault = Fault::new(field, if is_misfit { format!("does not fit: {rule}") } else { rule });
    if is_misfit { Error::Unprocessable(fault) } else { Error::Invalid(fault) }
}

/// The member that is missing, unknown or there twice: the path ends at the object that contains it.
fn member(rule: &str) -> Option<&str> {
    let (what, rest) = rule.split_once(" field `")?;
    matches!(what, "missing" | "unknown" | "duplicate")
        .then(|| rest.split_once('`'))
        .flatten()
        .map(|(name, _)| name)
}

/// Refuses integers that no integer type holds, which would become floats, and nesting beyond a limit.
fn check_tokens(body: &[u8], max_depth: usize) -> Result<()> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(&byte) = body.get(at) {
        match byte {
            b'"' => {
                let length = string_length(&body[at..]);
                check_name(&body[at..at + length], &body[at + length..])?;
                at += length;
            }
            b'[' | b'{' => {
                depth += 1;
                if depth > max_depth {
                    let rule = format!("is nested deeper than {max_depth} levels");
                    return Err(Error::over_limit("body", rule, max_depth as u64, depth as u64));
                }
                at += 1;
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let length = body[at..].iter().take_while(|b| b"+-.eE0123456789".contains(b)).count();
                check_number(&body[at..at + length])?;
                at += length;
            }
            _ => at += 1,
        }
    }
    Ok(())
}

/// The length of a string token with both its quotes.
fn string_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = rest.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Refuses names of members that mean something to `serde_json` itself: it would read their value as JSON once more,
/// without any of these checks, and could not read it back from where it was stored.
fn check_name(token: &[u8], rest: &[u8]) -> Result<()> {
    let is_name = rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
    // Most names hold neither a dollar nor an escape that could stand for one.
    if !is_name || !token.iter().any(|byte| b"$\\".contains(byte)) {
        return Ok(());
    }
    match serde_json::from_slice::<String>(token) {
        Ok(name) if name.starts_with(RESERVED) => {
            Err(Error::invalid(name, format!("is reserved: no member's name may begin with {RESERVED}")))
        }
        _ => Ok(()),
    }
}

fn check_number(token: &[u8]) -> Result<()> {
    let Ok(text) = std::str::from_utf8(token) else { return Ok(()) };
    let is_integer = !text.contains(['.', 'e', 'E']);
    if is_integer && text.len() > 18 && text.parse::<i64>().is_err() && text.parse::<u64>().is_err() {
        return Err(Error::invalid("", "an integer is outside of -2^63 to 2^64-1"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::Value;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Thing {
        id: String,
        #[serde(default)]
        inner: Option<Box<Thing>>,
    }

    fn code(body: &str) -> (String, String) {
        let error = decode::<Thing>(body.as_bytes()).expect_err(body);
        (error.code().to_owned(), error.to_string())
    }

    #[test]
    fn bodies_that_do_not_fit_are_422_and_name_the_field_r58() {
        for body in [
            r#"{"id":7}"#,
            r"{}",
            r#"{"id":"a","ix":1}"#,
            r#"{"id":"a","id":"b"}"#,
            r#"["a"]"#,
            r#"{"id":null}"#,
        ] {
            assert_eq!(code(body).0, "unprocessable", "{body}");
        }
        assert!(code(r#"{"id":"a","inner":{"id":7}}"#).1.contains("inner.id"));
        assert_eq!(code(r#"{"id":"a","inner":["b"]}"#).0, "unprocessable");
    }

    #[test]
    fn broken_json_is_400_c055() {
        for body in
            ["", "{", r#"{"id":"a"} x"#, r#"{"id":"\ud83d"}"#, "{'id':1}", r#"{"id":NaN}"#, "// c\n{}"]
        {
            assert_eq!(code(body).0, "invalid_request", "{body}");
        }
    }

    #[test]
    fn numbers_are_kept_or_refused_r43() {
        let kept = ["9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e300", "0.1"];
        for number in kept {
            assert!(decode::<Value>(number.as_bytes()).is_ok(), "{number}");
        }
        for number in ["18446744073709551616", "-9223372036854775809", "1e999"] {
            assert!(decode::<Value>(number.as_bytes()).is_err(), "{number}");
        }
        assert!(decode::<Value>(br#"["18446744073709551616 in \"text\""]"#).is_ok());
    }

    #[test]
    fn names_that_the_decoder_reads_otherwise_are_refused() {
        for body in [
            r#"{"$serde_json::private::RawValue":"{oops"}"#,
            r#"{"a":{"$serde_json::private::RawValue" : "[1]"}}"#,
            r#"{"\u0024serde_json::private::RawValue":"1"}"#,
            r#"[{"$serde_json::private::Number":"1"}]"#,
        ] {
            let error = decode::<Value>(body.as_bytes()).expect_err(body);
            assert_eq!(error.code(), "invalid_request", "{body}");
        }
        for body in [r#"{"a":"$serde_json::private::RawValue"}"#, r#"{"$ref":"\u0024"}"#, r#"{"\\":1}"#] {
            assert!(decode::<Value>(body.as_bytes()).is_ok(), "{body}");
        }
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Sort {
        Fact,
    }

    #[test]
    fn a_name_from_a_list_is_a_text_and_nothing_else_r08_r58() {
        assert_eq!(decode::<Vec<Sort>>(br#"["fact"]"#).expect("it fits"), [Sort::Fact]);
        for body in ["[7]", "[null]", "[true]", r#"[{"fact":null}]"#, r#"[["fact"]]"#] {
            let error = decode::<Vec<Sort>>(body.as_bytes()).expect_err(body);
            assert_eq!(error.code(), "unprocessable", "{body}");
        }
    }

    #[test]
    fn nesting_stops_at_64_c047() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(decode::<Value>(nested(64).as_bytes()).is_ok());
        for depth in [65, 100, 127, 200, 100_000] {
            assert!(decode::<Value>(nested(depth).as_bytes()).is_err(), "{depth}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_as_if_absent_c013() {
        assert!(decode::<Thing>(b"\xEF\xBB\xBF{\"id\":\"a\"}").is_ok());
    }

    proptest! {
        #[test]
        fn no_body_panics(body: Vec<u8>) {
            let _ = decode::<Thing>(&body);
            let _ = decode::<Value>(&body);
        }
    }
}
