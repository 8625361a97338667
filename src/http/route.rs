//! What a route is. Each file of this folder lists its own; [`super::routes`] is the one table of all.

use axum::http::Method;
use axum::routing::MethodRouter;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::app::App;
use crate::auth::{Action, Area};

/// One operation of the API.
#[derive(Clone)]
pub struct Route {
    /// The HTTP method.
    pub method: Method,
    /// The path, parameters in braces.
    pub path: &'static str,
    /// What a caller must hold.
    pub needs: Needs,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The status of success.
    pub status: u16,
    /// What answers it.
    pub handler: fn() -> MethodRouter<App>,
    /// The shape of its query string, if it takes one.
    pub query: Option<MakeSchema>,
    /// The shape of its body, if it takes one.
    pub body: Option<MakeSchema>,
    /// The shape of its answer, if it is JSON.
    pub reply: Option<MakeSchema>,
    /// Whether it takes an `Idempotency-Key`.
    pub idempotent: bool,
    /// Whether it takes an `If-Match`.
    pub conditional: bool,
}

/// Makes the schema of a type.
pub type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

/// What a caller must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// An API key, to be exchanged.
    ApiKey,
    /// Any capability or personal token.
    Capability,
    /// A right.
    Right(Area, Action),
    /// Each of these rights.
    Rights(&'static [(Area, Action)]),
    /// A right, and control of the tenant.
    RightAndControl(Area, Action),
    /// Control of the tenant.
    Control,
    /// An operator key.
    Operator,
}

impl Route {
    /// A route with a method, a path, what it needs, what it does and what answers it.
    pub const fn new(
        method: Method,
        path: &'static str,
        needs: Needs,
        summary: &'static str,
        handler: fn() -> MethodRouter<App>,
    ) -> Self {
        Self {
            method,
            path,
            needs,
            summary,
            status: 200,
            handler,
            query: None,
            body: None,
            reply: None,
            idempotent: false,
            conditional: false,
        }
    }

    /// The same, with this shape of body.
    #[must_use]
    pub const fn takes<T: JsonSchema>(mut self) -> Self {
        self.body = Some(schema_of::<T>);
        self
    }

    /// The same, with this shape of query string.
    #[must_use]
    pub const fn asks<T: JsonSchema>(mut self) -> Self {
        self.query = Some(schema_of::<T>);
        self
    }

    /// The same, with this shape of answer.
    #[must_use]
    pub const fn gives<T: JsonSchema>(mut self) -> Self {
        self.reply = Some(schema_of::<T>);
        self
    }

    /// The same, with this status of success.
    #[must_use]
    pub const fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The same, taking an `Idempotency-Key`.
    #[must_use]
    pub const fn once(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// The same, taking an `If-Match`.
    #[must_use]
    pub const fn if_match(mut self) -> Self {
        self.conditional = true;
        self
    }
}

/// Makes the schema of one type.
pub fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}
