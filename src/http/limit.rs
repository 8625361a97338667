//! Letting requests in, as far as their tenant's limits go, and telling what is left of them.
//!
//! Whose request it is becomes known when its handler asks for the caller; the place it takes among the tenant's
//! requests is kept here until it is answered.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;
use crate::error::Result;
use crate::id::TenantId;
use crate::limit::Admission;

/// What is left (draft-ietf-httpapi-ratelimit-headers).
static RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
/// Of how much.
static RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Where the place of a request is kept.
#[derive(Debug, Clone, Default)]
struct Ticket(Arc<Mutex<Option<Admission>>>);

/// Lets a request in, once it is known whose it is, or refuses it with 429.
pub fn admit(parts: &Parts, app: &App, tenant: TenantId) -> Result<()> {
    let admission = app.limits.admit(tenant)?;
    if let Some(Ticket(place)) = parts.extensions.get() {
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(admission);
    }
    Ok(())
}

/// Keeps a request's place until it is answered, and says in the answer what is left.
pub async fn keep_place(mut request: Request, next: Next) -> Response {
    let ticket = Ticket::default();
    request.extensions_mut().insert(ticket.clone());
    let mut response = next.run(request).await;
    let admission = ticket.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(left) = admission.and_then(|admission| admission.remaining) {
        let texts = [
            (&RATE_LIMIT, format!("\"tenant\";r={};t={}", left.requests, left.window_seconds)),
            (&RATE_LIMIT_POLICY, format!("\"tenant\";q={};w={}", left.burst, left.window_seconds)),
        ];
        for (name, text) in texts {
            if let Ok(value) = HeaderValue::from_str(&text) {
                response.headers_mut().insert(name.clone(), value);
            }
        }
    }
    response
}
