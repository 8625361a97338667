//! What comes in a POST, before the SDK sees it: one request or notification, in order as far as the SDK would not say
//! what is wrong with it. Pure.

use axum::http::StatusCode;
use rmcp::model::ProtocolVersion;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::error::{Error, Fault};
use crate::http::json;
use crate::rpc::frame::{BadRequest, Id, Message, Request, Unreadable, read as read_frame};
use crate::rpc::{Answer, RpcError};

/// A message that is refused, and how.
#[derive(Debug)]
pub struct Refusal {
    /// The HTTP status.
    pub status: StatusCode,
    /// The answer.
    pub answer: Answer,
}

/// Reads a message, and gives it as the SDK takes it.
pub fn read(body: &[u8], request_id: &str) -> Result<Vec<u8>, Box<Refusal>> {
    let refuse = |status, id, error| Box::new(Refusal { status, answer: Answer::refused(id, error) });
    let bad =
        |id, error: &Error| refuse(StatusCode::BAD_REQUEST, id, RpcError::invalid_request(error, request_id));
    let request = match read_frame(body) {
        Ok(Message::Single(Ok(request))) => request,
        Ok(Message::Single(Err(BadRequest { id, error }))) => return Err(bad(id, &error)),
        Ok(Message::Batch(_)) | Err(Unreadable::BatchSize(_)) => {
            return Err(bad(Id::null(), &Error::invalid("", "a message holds one request, and no batch")));
        }
        Err(Unreadable::Broken(reason)) => {
            let error = RpcError::parse_error(&reason, request_id);
            return Err(refuse(StatusCode::BAD_REQUEST, Id::null(), error));
        }
    };
    if request.id.as_ref().is_some_and(Id::is_null) {
        return Err(bad(Id::null(), &Error::invalid("id", "must not be null")));
    }
    let id = request.id.clone();
    let method = request.method.clone();
    written(request).map_err(|error| {
        refuse(StatusCode::OK, id.unwrap_or_else(Id::null), RpcError::of(&error, &method, request_id))
    })
}

/// The message anew: its params are an object or absent, and hold what every client should send.
fn written(request: Request) -> Result<Vec<u8>, Error> {
    let params = request.params.as_deref().map(RawValue::get).filter(|params| *params != "null");
    let mut params: Option<Map<String, Value>> = match params {
        None => None,
        Some(text) if text.starts_with('{') => {
            Some(json::decode_within(text.as_bytes(), json::MAX_DEPTH + 1)?)
        }
        Some(_) => return Err(Error::invalid("params", "must be an object")),
    };
    if params.as_ref().and_then(|params| params.get("_meta")).is_some_and(|meta| !meta.is_object()) {
        return Err(Error::invalid("params._meta", "must be an object"));
    }
    match request.method.as_str() {
        "tools/call" => check_call(params.as_ref())?,
        "initialize" => introduce(params.get_or_insert_default()),
        _ => {}
    }
    let mut message = json!({ "jsonrpc": "2.0", "method": request.method });
    if let Some(id) = request.id {
        message["id"] = serde_json::from_str(id.get()).map_err(Error::internal)?;
    }
    if let Some(params) = params {
        message["params"] = Value::Object(params);
    }
    to_raw_value(&message).map(|message| message.get().as_bytes().to_vec()).map_err(Error::internal)
}

/// A call names a tool, and gives its arguments by name (C053, C069).
fn check_call(params: Option<&Map<String, Value>>) -> Result<(), Error> {
    let unfit = |field: &'static str, rule: &'static str| Error::Invalid(Fault::new(field, rule));
    let params = params.ok_or_else(|| unfit("params", "must be an object with the `name` of a tool"))?;
    if !params.get("name").is_some_and(Value::is_string) {
        return Err(unfit("params.name", "must be the name of a tool"));
    }
    match params.get("arguments") {
        None | Some(Value::Null | Value::Object(_)) => Ok(()),
        Some(_) => Err(unfit("params.arguments", "must be an object")),
    }
}

/// A client that says too little of itself is spoken to in the newest version that has a handshake (C074).
fn introduce(params: &mut Map<String, Value>) {
    let version = ProtocolVersion::LATEST_WITH_INITIALIZE;
    params.entry("protocolVersion").or_insert_with(|| json!(version.as_str()));
    params.entry("capabilities").or_insert_with(|| json!({}));
    params.entry("clientInfo").or_insert_with(|| json!({ "name": "unknown", "version": "0" }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &str) -> (u16, Value) {
        let refusal = read(body.as_bytes(), "req").expect_err(body);
        (refusal.status.as_u16(), serde_json::to_value(refusal.answer).expect("it is JSON"))
    }

    #[test]
    fn what_is_no_request_is_an_error_of_the_protocol_xd04() {
        for (body, status, code) in [
            ("{", 400, -32700),
            (r#"{"a":"\ud83d"}"#, 400, -32700),
            ("[]", 400, -32600),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, 400, -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, 400, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 400, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, 200, -32602),
        ] {
            let (found, answer) = refused(body);
            assert_eq!((found, &answer["error"]["code"]), (status, &json!(code)), "{body}");
        }
    }

    #[test]
    fn params_of_another_shape_are_named_c069() {
        for (params, field) in [
            ("null", "params"),
            ("[]", "params"),
            (r#"["x"]"#, "params"),
            (r#""x""#, "params"),
            ("7", "params"),
            ("{}", "params.name"),
            (r#"{"name":7}"#, "params.name"),
            (r#"{"name":"search_memory","arguments":"x"}"#, "params.arguments"),
            (r#"{"name":"search_memory","arguments":[]}"#, "params.arguments"),
        ] {
            let (_, answer) =
                refused(&format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#));
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32602), &json!(7)), "{params}");
            assert_eq!(answer["error"]["data"]["details"]["field"], field, "{params}");
        }
    }

    #[test]
    fn a_message_in_order_is_given_as_it_came() {
        let body = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\",\"params\":null}";
        let message: Value =
            serde_json::from_slice(&read(body.as_bytes(), "req").expect("c013")).expect("JSON");
        assert_eq!(message, json!({ "jsonrpc": "2.0", "id": "a", "method": "ping" }));
    }
}
