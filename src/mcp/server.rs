//! What the SDK asks: who we are, which tools there are, and to call one.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode,
    ErrorData, Implementation, InitializeResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, model};
use serde_json::{Value, json};
use tracing::Instrument;

use super::tools::{self, Call};
use crate::app::App;
use crate::auth::Caller;
use crate::error::{Error, ErrorReport};

/// What the server is called (D-054).
const NAME: &str = "WorkingMemory";

/// What a model is told beside the descriptions of the tools, which are fixed.
const INSTRUCTIONS: &str = "The user's Working Memory. `text` of save_memory holds up to 65,536 bytes and 200 notes; \
    `task_content` of capture_task up to 32,768 bytes. A result with \"ok\": false says in `error.message` what to \
    change.";

/// One request's server: it knows who calls.
#[derive(Debug, Clone)]
pub struct Server {
    /// The service.
    pub app: App,
    /// Who calls.
    pub caller: Caller,
    /// What to name when asking for help.
    pub request_id: String,
    /// The request's span: the SDK works in tasks of its own.
    pub span: tracing::Span,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let implementation = Implementation::new(NAME, env!("CARGO_PKG_VERSION")).with_title(NAME);
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::listed().to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<model::Tool> {
        tools::listed().iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::find(&params.name) else {
            let shown: String = params.name.chars().take(64).collect();
            return Err(ErrorData::invalid_params(format!("there is no tool `{shown}`"), None));
        };
        let call = Call {
            app: self.app.clone(),
            caller: self.caller.clone(),
            arguments: params.arguments.unwrap_or_default(),
        };
        let result = call.run(tool).instrument(self.span.clone()).await;
        let outcome = result.as_ref().map_or_else(|error| error.code().to_owned(), |_| "ok".to_owned());
        metrics::counter!("memtide_mcp_calls_total", "tool" => tool.name, "outcome" => outcome).increment(1);
        Ok(match result {
            Ok(value) => CallToolResult::structured(value),
            Err(error) => CallToolResult::structured_error(self.failure(tool.name, &error)),
        }
        .into())
    }

    /// What has the name of a method and does not fit it gets here; everything else is no method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        if ["initialize", "ping", "tools/list", "tools/call"].contains(&method.as_str()) {
            return Err(ErrorData::invalid_params(format!("the params of `{method}` do not fit"), None));
        }
        let shown: String = method.chars().take(64).collect();
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{shown}`"), None))
    }
}

impl Server {
    /// The failure of a tool, as REST would tell it (XD-04, R-17). A fault of ours is logged here, and nowhere else.
    fn failure(&self, tool: &str, error: &Error) -> Value {
        if let Error::Internal(source) = error {
            let id = &self.request_id;
            tracing::error!(request.id = id, mcp.tool = tool, error = %source, "a tool failed on a fault of ours");
        }
        let mut failure = json!(ErrorReport::new(error));
        failure["request_id"] = json!(self.request_id);
        json!({ "ok": false, "error": failure })
    }
}
