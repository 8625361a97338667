//! Every route, with what it needs and how it is called. A route that is not here fails the tests, and so does one
//! that is here and gone.

use axum::http::Method;
use memtide::http::route::Route;
use serde_json::{Value, json};

use crate::support::{Client, Reply, pending};

/// Every route and what a caller must hold, as `http/route.rs` has to have them.
pub const ROUTES: &[&str] = &[
    "GET /livez Nothing",
    "GET /readyz Nothing",
    "GET /metrics Nothing",
    "POST /v1/auth/token ApiKey",
    "POST /v1/auth/attenuate Capability",
    "POST /v1/auth/revoke Capability",
    "GET /v1/auth/whoami Capability",
    "GET /.well-known/jwks.json Nothing",
    "POST /v1/memory/items Right(Durable, Write)",
    "POST /v1/memory/items/batch Right(Durable, Write)",
    "GET /v1/memory/items Right(Durable, Read)",
    "GET /v1/memory/items/{id} Right(Durable, Read)",
    "PATCH /v1/memory/items/{id} Right(Durable, Write)",
    "DELETE /v1/memory/items/{id} Right(Durable, Delete)",
    "POST /v1/memory/items/{id}/restore Right(Durable, Write)",
    "GET /v1/memory/items/{id}/history Right(Durable, Read)",
    "POST /v1/memory/search Right(Durable, Read)",
    "POST /v1/memory/context Right(Durable, Read)",
    "POST /v1/memory/forget Right(Durable, Delete)",
    "POST /v1/memory/semantic_write Right(Candidates, Write)",
    "GET /v1/memory/candidates Right(Candidates, Read)",
    "GET /v1/memory/candidates/{id} Right(Candidates, Read)",
    "POST /v1/memory/candidates/{id}/decide Right(Candidates, Review)",
    "POST /v1/memory/candidates/{id}/approve Rights([(Candidates, Review), (Durable, Write)])",
    "POST /v1/memory/candidates/{id}/reject Right(Candidates, Review)",
    "POST /v1/memory/candidates/{id}/edit_and_approve Rights([(Candidates, Review), (Durable, Write)])",
    "POST /v1/memory/candidates/{id}/merge Right(Candidates, Review)",
    "POST /v1/memory/candidates/{id}/suppress_similar Right(Candidates, Review)",
    "POST /v1/memory/cognitive/session Right(Cognitive, Write)",
    "POST /v1/memory/cognitive/thought Right(Cognitive, Write)",
    "POST /v1/memory/cognitive/decision Right(Cognitive, Write)",
    "POST /v1/memory/cognitive/interaction Right(Cognitive, Write)",
    "GET /v1/memory/cognitive/sessions Right(Cognitive, Read)",
    "GET /v1/memory/cognitive/session/{id} Right(Cognitive, Read)",
    "GET /v1/memory/cognitive/session/{id}/timeline Right(Cognitive, Read)",
    "GET /v1/memory/cognitive/session/{id}/context Right(Cognitive, Read)",
    "POST /v1/memory/cognitive/session/{id}/close Right(Cognitive, Write)",
    "POST /v1/memory/capture Right(Durable, Write)",
    "GET /v1/memory/jobs/{id} Right(Durable, Read)",
    "GET /v1/memory/events Right(Events, Read)",
    "POST /v1/rpc Capability",
    "GET /v1/rpc/ws Capability",
    "POST /mcp Capability",
    "GET /v1/working-memory/slots Right(Working, Read)",
    "GET /v1/working-memory/config Control",
    "PUT /v1/working-memory/config Control",
    "GET /v1/working-memory/stats Right(Working, Read)",
    "POST /v1/working-memory/slots/clear Right(Working, Delete)",
    "POST /v1/working-memory/slots/inject Right(Working, Write)",
    "GET /v1/working-memory/workspace Right(Working, Read)",
    "POST /v1/working-memory/workspace/offer Right(Working, Write)",
    "POST /v1/working-memory/slots/rehearse Right(Working, Write)",
    "POST /v1/working-memory/focus Right(Working, Write)",
    "POST /v1/working-memory/focus/release Right(Working, Write)",
    "POST /v1/working-memory/slots/consolidate Rights([(Working, Read), (Durable, Write)])",
    "POST /v1/working-memory/clear Right(Working, Delete)",
    "GET /v1/working-memory/events Right(Working, Read)",
    "POST /v1/admin/tenants Operator",
    "GET /v1/admin/tenants Operator",
    "GET /v1/admin/tenants/{id} Operator",
    "PATCH /v1/admin/tenants/{id} Operator",
    "DELETE /v1/admin/tenants/{id} Operator",
    "POST /v1/admin/tenants/{id}/revoke_all Operator",
    "POST /v1/admin/signing_keys/rotate Operator",
    "POST /v1/admin/tenants/{id}/keys Operator",
    "GET /v1/admin/tenants/{id}/keys Operator",
    "DELETE /v1/admin/tenants/{id}/keys/{key_id} Operator",
    "POST /v1/admin/tenants/{id}/tokens Operator",
    "GET /v1/admin/tenants/{id}/tokens Operator",
    "DELETE /v1/admin/tenants/{id}/tokens/{token_id} Operator",
    "GET /v1/admin/jobs Operator",
    "POST /v1/admin/jobs/{id}/retry Operator",
];

/// The slot that every namespace of the stage has.
pub const SLOT: &str = "slot";

/// What a request is aimed at: ids as they are written, and words by which a search finds the records.
#[derive(Debug, Clone)]
pub struct Target {
    pub tenant: String,
    pub slug: String,
    pub key: String,
    pub token: String,
    pub capability: String,
    /// An active record.
    pub memory: String,
    /// A record that can be restored.
    pub forgotten: String,
    /// A candidate that can be decided.
    pub candidate: String,
    /// One that it can be merged into.
    pub twin: String,
    /// A session that is active.
    pub session: String,
    /// A job that was done.
    pub job: String,
    /// One that failed.
    pub failed_job: String,
    pub words: String,
}

impl Target {
    /// The ids in it, which an answer may repeat only if they were sent.
    pub fn ids(&self) -> [&str; 11] {
        let Self { tenant, key, token, capability, memory, forgotten, candidate, twin, session, .. } = self;
        let Self { job, failed_job, .. } = self;
        [tenant, key, token, capability, memory, forgotten, candidate, twin, session, job, failed_job]
    }
}

/// What is said with a decision.
pub fn decision(act: &str, target: &Target) -> Value {
    match act {
        "decide" => json!({ "decision": "reject" }),
        "edit_and_approve" => json!({ "edited_text": "Another text." }),
        "merge" => json!({ "target_candidate_id": target.twin }),
        "approve" | "reject" | "suppress_similar" => json!({}),
        _ => panic!("{act} is new: say here what is said with it"),
    }
}

/// What is sent about a session; nothing where nothing is.
fn of_session(pattern: &str, session: &str) -> Option<Value> {
    match pattern.strip_prefix("/v1/memory/cognitive/")? {
        "session" => Some(json!({ "agent_id": "agent", "goal": "A goal." })),
        "thought" => Some(json!({ "session_id": session, "content": "A thought." })),
        "decision" => Some(json!({ "session_id": session, "decision": "A decision." })),
        "interaction" => Some(json!({ "session_id": session, "role": "user", "content": "Hello." })),
        "session/{id}/close" => Some(json!({ "summary": "Done." })),
        "session/{id}" | "session/{id}/timeline" | "session/{id}/context" => None,
        _ => panic!("{pattern} is new: say here what is sent"),
    }
}

/// How a route of operators is called.
fn of_operator(method: &str, path: &str, target: &Target) -> (String, Option<Value>) {
    let tenant = |end: &str| format!("/v1/admin/tenants/{}{end}", target.tenant);
    match (method, path) {
        ("POST", "/v1/admin/jobs/{id}/retry") => (path.replace("{id}", &target.failed_job), None),
        ("POST", "/v1/admin/tenants") => {
            (path.to_owned(), Some(json!({ "slug": "new-tenant", "name": "New" })))
        }
        ("GET", "/v1/admin/tenants/{id}") => (tenant(""), None),
        ("PATCH", "/v1/admin/tenants/{id}") => (tenant(""), Some(json!({ "name": "Changed" }))),
        ("DELETE", "/v1/admin/tenants/{id}") => (tenant(&format!("?confirm={}", target.slug)), None),
        ("POST", "/v1/admin/tenants/{id}/revoke_all") => (tenant("/revoke_all"), None),
        ("POST", "/v1/admin/signing_keys/rotate") => (path.to_owned(), None),
        ("POST", "/v1/admin/tenants/{id}/keys") => (
            tenant("/keys"),
            Some(json!({ "name": "k", "namespaces": ["*"], "capabilities": { "memory.durable": ["read"] } })),
        ),
        ("POST", "/v1/admin/tenants/{id}/tokens") => (
            tenant("/tokens"),
            Some(
                json!({ "name": "t", "namespace": "default", "capabilities": { "memory.durable": ["read"] } }),
            ),
        ),
        ("GET", "/v1/admin/tenants/{id}/keys") => (tenant("/keys"), None),
        ("GET", "/v1/admin/tenants/{id}/tokens") => (tenant("/tokens"), None),
        ("DELETE", "/v1/admin/tenants/{id}/keys/{key_id}") => {
            (tenant(&format!("/keys/{}", target.key)), None)
        }
        ("DELETE", "/v1/admin/tenants/{id}/tokens/{token_id}") => {
            (tenant(&format!("/tokens/{}", target.token)), None)
        }
        _ => panic!("{method} {path} is new: say here how it is called, and add it to ROUTES"),
    }
}

/// A request that is in order, but for what its sender holds.
#[derive(Debug, PartialEq)]
pub struct Call {
    method: Method,
    pub path: String,
    pub body: Option<Value>,
}

impl Call {
    /// How a route is called for this target.
    pub fn to(route: &Route, target: &Target) -> Self {
        let memory = |end: &str| format!("/v1/memory/items/{}{end}", target.memory);
        let note = |content: &str| json!({ "scope": { "kind": "user", "key": "alice" }, "category": "custom", "content": content });
        let search = json!({ "query": target.words, "limit": 100 });
        let path = route.path.to_owned();
        let (path, body) = match (route.method.as_str(), route.path) {
            ("GET", "/v1/memory/events") => (format!("{path}?after=0"), None),
            ("GET", path) if !path.contains('{') => (path.to_owned(), None),
            ("POST", "/v1/memory/semantic_write") => (path, Some(pending("A note on the sea."))),
            ("GET", "/v1/memory/candidates/{id}") => (path.replace("{id}", &target.candidate), None),
            ("POST", pattern) if pattern.starts_with("/v1/memory/candidates/{id}/") => {
                let act = pattern.rsplit('/').next().unwrap();
                (path.replace("{id}", &target.candidate), Some(decision(act, target)))
            }
            (_, pattern) if pattern.starts_with("/v1/memory/cognitive/") => {
                (path.replace("{id}", &target.session), of_session(pattern, &target.session))
            }
            ("POST", "/v1/memory/capture") => (path, Some(json!({ "task_content": "I prefer tea." }))),
            ("GET", "/v1/memory/jobs/{id}") => (path.replace("{id}", &target.job), None),
            ("POST", "/v1/auth/token") => (path, Some(json!({ "namespace": "default" }))),
            ("POST", "/v1/auth/attenuate") => (path, Some(json!({ "ttl_seconds": 60 }))),
            ("POST", "/v1/auth/revoke") => (path, Some(json!({ "jti": target.capability }))),
            ("POST", "/v1/memory/items") => (path, Some(note("A note."))),
            ("POST", "/v1/memory/items/batch") => {
                (path, Some(json!({ "items": [note("One."), note("Two.")] })))
            }
            ("GET" | "DELETE", "/v1/memory/items/{id}") => (memory(""), None),
            ("PATCH", "/v1/memory/items/{id}") => (memory(""), Some(json!({ "content": "Changed." }))),
            ("POST", "/v1/memory/items/{id}/restore") => {
                (path.replace("{id}", &target.forgotten), Some(json!({})))
            }
            ("GET", "/v1/memory/items/{id}/history") => (memory("/history"), None),
            ("POST", "/v1/memory/search" | "/v1/memory/context") => (path, Some(search)),
            ("POST", "/v1/memory/forget") => {
                (path, Some(json!({ "target": { "kind": "id", "memory_id": target.memory } })))
            }
            ("PUT", "/v1/working-memory/config") => {
                let settings = json!({ "max_slots": 9, "ttl_seconds": 60, "max_value_bytes": 100,
                    "max_namespace_entries": 5, "max_slot_id_bytes": 64 });
                (path, Some(settings))
            }
            ("POST", "/v1/working-memory/slots/inject") => {
                (path, Some(json!({ "id": SLOT, "value": "another note" })))
            }
            ("POST", "/v1/working-memory/workspace/offer") => {
                (path, Some(json!({ "items": [{ "id": SLOT, "value": "another note" }] })))
            }
            (
                "POST",
                "/v1/working-memory/slots/clear"
                | "/v1/working-memory/slots/rehearse"
                | "/v1/working-memory/focus",
            ) => (path, Some(json!({ "id": SLOT }))),
            ("POST", "/v1/working-memory/slots/consolidate") => {
                (path, Some(json!({ "id": SLOT, "clear": false })))
            }
            ("POST", "/v1/working-memory/focus/release" | "/v1/working-memory/clear") => {
                (path, Some(json!({})))
            }
            // Its methods have a matrix of their own.
            ("POST", "/v1/rpc") => {
                let params = json!({ "memory_id": target.memory, "include_deleted": true });
                let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "memory/get", "params": params });
                (path, Some(request))
            }
            // So have its tools.
            ("POST", "/mcp") => {
                let arguments = json!({ "query": target.words, "k": 20, "dedupe_recent": false });
                let params = json!({ "name": "search_memory", "arguments": arguments });
                (path, Some(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })))
            }
            (method, pattern) if pattern.starts_with("/v1/admin/") => of_operator(method, pattern, target),
            (method, path) => {
                panic!("{method} {path} is new: say here how it is called, and add it to ROUTES")
            }
        };
        Self { method: route.method.clone(), path, body }
    }

    /// Sends it under a request id that is always the same, so that answers can be compared byte by byte.
    pub async fn send(&self, caller: &Client) -> Reply {
        let body = self.body.as_ref().map(Value::to_string);
        caller.with("x-request-id", "the-same").send(self.method.clone(), &self.path, body).await
    }

    /// Whether the text stands in the request, so that an answer may repeat it.
    pub fn holds(&self, text: &str) -> bool {
        self.path.contains(text) || self.body.as_ref().is_some_and(|body| body.to_string().contains(text))
    }
}
