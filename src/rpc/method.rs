//! The methods of the protocol: the one table from which dispatch, the OpenRPC document, the schemas and the isolation
//! test are made.

use std::pin::Pin;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::{candidate, record};
use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::error::{Error, Fault, Result};
use crate::http::json;
use crate::http::route::{MakeSchema, Needs, schema_of};
use crate::idempotency::Key;

/// One method.
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// The rights a caller must hold; some params need more.
    pub needs: Needs,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The shape of its params.
    pub params: MakeSchema,
    /// The shape of its result.
    pub result: MakeSchema,
    /// The operation behind it.
    pub(super) run: Run,
}

/// What a method does with a call.
pub(super) type Run = fn(Call) -> Running;
/// A call under way.
pub(super) type Running = Pin<Box<dyn Future<Output = Result<Box<RawValue>>> + Send>>;

impl Method {
    pub(super) const fn new<P: JsonSchema, R: JsonSchema>(
        name: &'static str,
        needs: Needs,
        summary: &'static str,
        run: Run,
    ) -> Self {
        Self { name, needs, summary, params: schema_of::<P>, result: schema_of::<R>, run }
    }
}

/// Every method there is.
pub fn methods() -> impl Iterator<Item = &'static Method> {
    [record::METHODS, candidate::METHODS].into_iter().flatten()
}

/// The method of a name.
pub fn find(name: &str) -> Option<&'static Method> {
    methods().find(|method| method.name == name)
}

/// One call of a method.
pub struct Call {
    /// The service.
    pub app: App,
    /// Who calls.
    pub caller: Caller,
    /// The params as they came.
    pub params: Option<Box<RawValue>>,
    /// The `Idempotency-Key` of the HTTP request, if it holds this one call.
    pub key: Option<String>,
}

impl Call {
    /// Calls the method: first its rights, then its params, then the effect.
    pub async fn run(self, method: &Method) -> Result<Box<RawValue>> {
        self.check(method.needs)?;
        (method.run)(self).await
    }

    fn check(&self, needs: Needs) -> Result<()> {
        let permit = |&(area, action): &(Area, Action)| self.caller.permit(action, area).map(drop);
        match needs {
            Needs::Right(area, action) => permit(&(area, action)),
            Needs::Rights(rights) => rights.iter().try_for_each(permit),
            // No method needs anything else, and the connection is authenticated.
            _ => Ok(()),
        }
    }

    /// The params, decoded as strictly as a body over REST.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T> {
        let params = self.params.as_ref().map_or("{}", |params| params.get());
        if !params.starts_with('{') {
            return Err(Error::Unprocessable(Fault::new("params", "must be an object")));
        }
        json::decode(params.as_bytes())
    }

    /// The idempotency key of this call: the one in its params, or else the header's.
    pub fn key<T: Serialize>(&self, own: Option<Key>, route: &str, body: &T) -> Result<Option<Key>> {
        match &self.key {
            Some(_) if own.is_some() => {
                Err(Error::invalid("idempotency_key", "is given in the header too: give one of them"))
            }
            Some(name) => {
                let body = serde_json::to_value(body).map_err(Error::internal)?;
                Key::new(name, route, &body).map(Some)
            }
            None => Ok(own),
        }
    }
}

/// The result as it is sent.
pub fn reply<T: Serialize>(result: &T) -> Result<Box<RawValue>> {
    to_raw_value(result).map_err(Error::internal)
}

/// The result of a get, empty when there is nothing (PC-24).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundRecord {
    /// The record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<crate::memory::Record>,
}
