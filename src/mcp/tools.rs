//! The tools: the one table from which the list, the dispatch and the isolation test are made.
//!
//! What models read of them, descriptions and schemas, is the seed's, word for word, in `tools.json` (D-052).

use std::pin::Pin;
use std::sync::LazyLock;
use std::time::Duration;

use rmcp::model;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::app::App;
use crate::auth::{Action, Area, Caller};
use crate::capture::{self, Capture};
use crate::error::{Error, Result};
use crate::http::json;
use crate::http::route::Needs;
use crate::note::{self, Manage, Save, SearchNotes};

/// How long a tool may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// How long saving may take: 200 notes as long as the model reads are 51,000 tokens.
const SAVE_DEADLINE: Duration = Duration::from_mins(1);

/// The arguments of `capture_task`.
const CAPTURED: &[&str] = &["task_content", "task_description", "client"];

/// One tool.
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// The right a caller must hold.
    pub needs: Needs,
    deadline: Duration,
    run: fn(Call) -> Running,
}

/// A call under way.
type Running = Pin<Box<dyn Future<Output = Result<Value>> + Send>>;

/// Every tool there is (D-053, XD-01).
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "save_memory",
        needs: Needs::Right(Area::Durable, Action::Write),
        deadline: SAVE_DEADLINE,
        run: save_memory,
    },
    Tool {
        name: "search_memory",
        needs: Needs::Right(Area::Durable, Action::Read),
        deadline: DEADLINE,
        run: search_memory,
    },
    Tool {
        name: "manage_memory",
        needs: Needs::Right(Area::Durable, Action::Delete),
        deadline: DEADLINE,
        run: manage_memory,
    },
    Tool {
        name: "capture_task",
        needs: Needs::Right(Area::Durable, Action::Write),
        deadline: DEADLINE,
        run: capture_task,
    },
];

/// The tool of a name.
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// The tools as a client is told of them.
pub fn listed() -> &'static [model::Tool] {
    static LISTED: LazyLock<Vec<model::Tool>> = LazyLock::new(|| {
        serde_json::from_str(include_str!("tools.json")).expect("the file is part of the program")
    });
    &LISTED
}

/// One call of a tool.
pub struct Call {
    /// The service.
    pub app: App,
    /// Who calls.
    pub caller: Caller,
    /// The arguments as they came.
    pub arguments: Map<String, Value>,
}

impl Call {
    /// Calls a tool: first its right, then its arguments, then the effect.
    pub async fn run(self, tool: &Tool) -> Result<Value> {
        if let Needs::Right(area, action) = tool.needs {
            self.caller.permit(action, area)?;
        }
        let answer = tokio::time::timeout(tool.deadline, (tool.run)(self)).await;
        answer.unwrap_or_else(|_| Err(Error::unavailable("the service, which is slow at the moment,")))
    }

    /// The arguments, decoded as strictly as a body over REST, but for members that nobody knows (XD-19).
    fn arguments<T: DeserializeOwned>(&mut self) -> Result<T> {
        let arguments = Value::Object(std::mem::take(&mut self.arguments)).to_string();
        json::decode(arguments.as_bytes()).map_err(|error| match error {
            Error::Unprocessable(fault) => Error::Invalid(fault),
            other => other,
        })
    }
}

fn reply<T: Serialize>(answer: &T) -> Result<Value> {
    serde_json::to_value(answer).map_err(Error::internal)
}

fn save_memory(mut call: Call) -> Running {
    Box::pin(async move {
        let save: Save = call.arguments()?;
        reply(&note::save(&call.app, &call.caller, save).await?)
    })
}

fn search_memory(mut call: Call) -> Running {
    Box::pin(async move {
        let wanted: SearchNotes = call.arguments()?;
        reply(&note::search(&call.app, &call.caller, wanted).await?)
    })
}

fn manage_memory(mut call: Call) -> Running {
    Box::pin(async move {
        let wanted: Manage = call.arguments()?;
        reply(&note::manage(&call.app, &call.caller, &wanted).await?)
    })
}

fn capture_task(mut call: Call) -> Running {
    Box::pin(async move {
        // Over REST what nobody knows is refused, here it is ignored (XD-19).
        call.arguments.retain(|name, _| CAPTURED.contains(&name.as_str()));
        let new: Capture = call.arguments()?;
        reply(&capture::capture(&call.app, &call.caller, new, None).await?.body)
    })
}
