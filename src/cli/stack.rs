//! The tokens of a local stack, kept in `.dev/env`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use chrono::TimeDelta;

use crate::app::App;
use crate::auth::key::{NewKey, NewOperatorKey, NewToken, usual_sensitivity};
use crate::auth::secret::Bearer;
use crate::auth::{self, OperatorPermit, Rights, TokenRequest};
use crate::error::{Error, Result};
use crate::id::TenantId;
use crate::tenant::{self, NewTenant};

const SLUG: &str = "demo";

/// A capability that ends sooner than this is replaced.
const LEAST_LIFE: TimeDelta = TimeDelta::days(7);

/// What a developer needs to use a local stack. Empty where it is not known yet.
#[derive(Debug, Default)]
pub struct Stack {
    url: String,
    operator_key: String,
    api_key: String,
    /// A capability of the demo tenant with every right.
    pub capability: String,
    /// A personal token of the demo tenant, for MCP clients.
    pub mcp_token: String,
}

impl Stack {
    /// What the file says; nothing if there is none.
    pub fn read(file: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap_or_default();
        let lines: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once('=')).collect();
        let value = |name| lines.get(name).copied().unwrap_or_default().to_owned();
        Self {
            url: String::new(),
            operator_key: value("MEMTIDE_OPERATOR_KEY"),
            api_key: value("MEMTIDE_API_KEY"),
            capability: value("MEMTIDE_CAPABILITY"),
            mcp_token: value("MEMTIDE_MCP_TOKEN"),
        }
    }

    /// Makes what is missing or does not work any more.
    pub async fn complete(mut self, app: &App) -> Result<Self> {
        self.url.clone_from(&app.config.http.public_url);
        let permit = OperatorPermit::command_line();
        if !self.operator_key_works(app).await? {
            let new = NewOperatorKey { name: "local stack".to_owned() };
            let (_, bearer) = auth::create_operator_key(app, &permit, new).await?;
            bearer.expose().clone_into(&mut self.operator_key);
        }
        let tenant = match tenant::find_by_slug(app, &permit, SLUG).await? {
            Some(tenant) => tenant.id,
            None => create_tenant(app, &permit).await?,
        };
        if !self.api_key_works(app, tenant).await? {
            let (_, bearer) = auth::create_key(app, &permit, tenant, demo_key()).await?;
            bearer.expose().clone_into(&mut self.api_key);
        }
        if !self.capability_works(app, tenant).await? {
            self.capability = self.new_capability(app).await?;
        }
        if !self.mcp_token_works(app, tenant).await? {
            let (_, bearer) = auth::create_token(app, &permit, tenant, demo_token()?).await?;
            bearer.expose().clone_into(&mut self.mcp_token);
        }
        Ok(self)
    }

    /// Writes the file anew, for its owner only.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let Self { url, operator_key, api_key, capability, mcp_token } = self;
        let new = file.with_extension("new");
        let mut open = fs::OpenOptions::new();
        let mut output = open.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        write!(
            output,
            "MEMTIDE_URL={url}\nMEMTIDE_OPERATOR_KEY={operator_key}\nMEMTIDE_API_KEY={api_key}\n\
             MEMTIDE_CAPABILITY={capability}\nAKASHA_URL={url}\nAKASHA_CAPABILITY={capability}\n\
             MEMTIDE_MCP_URL={url}/mcp\nMEMTIDE_MCP_TOKEN={mcp_token}\n"
        )?;
        fs::rename(new, file)
    }

    async fn operator_key_works(&self, app: &App) -> Result<bool> {
        let Some(bearer) = Bearer::parse(&self.operator_key) else { return Ok(false) };
        works(app.auth.operator(app, &bearer).await).map(|permit| permit.is_some())
    }

    async fn api_key_works(&self, app: &App, tenant: TenantId) -> Result<bool> {
        let Some(bearer) = Bearer::parse(&self.api_key) else { return Ok(false) };
        let known = works(app.auth.api_key(app, &bearer).await)?;
        Ok(known.is_some_and(|known| known.tenant == tenant))
    }

    async fn capability_works(&self, app: &App, tenant: TenantId) -> Result<bool> {
        let caller = works(app.auth.capability(app, &self.capability).await)?;
        let least_end = app.clock.now() + LEAST_LIFE;
        Ok(caller.is_some_and(|caller| {
            let claims = caller.claims();
            claims.tenant == tenant && claims.expires_at.is_some_and(|end| end > least_end)
        }))
    }

    async fn mcp_token_works(&self, app: &App, tenant: TenantId) -> Result<bool> {
        let Some(bearer) = Bearer::parse(&self.mcp_token) else { return Ok(false) };
        let caller = works(app.auth.personal_token(app, &bearer).await)?;
        Ok(caller.is_some_and(|caller| caller.claims().tenant == tenant))
    }

    async fn new_capability(&self, app: &App) -> Result<String> {
        let bearer = Bearer::parse(&self.api_key).ok_or(Error::Unauthorized("the API key is not valid"))?;
        let known = app.auth.api_key(app, &bearer).await?;
        let request = TokenRequest {
            namespace: Some(namespace()?),
            control: true,
            ttl_seconds: u32::try_from(auth::max_ttl(app).num_seconds()).ok(),
            ..TokenRequest::default()
        };
        Ok(auth::exchange(app, &known, &request)?.capability)
    }
}

/// A token that is refused is none; any other failure is one.
fn works<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Unauthorized(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn create_tenant(app: &App, permit: &OperatorPermit) -> Result<TenantId> {
    let new = NewTenant { slug: SLUG.to_owned(), name: "Demo".to_owned(), ..NewTenant::default() };
    match tenant::create(app, permit, new).await {
        // Another process was faster.
        Err(Error::Conflict(_)) => {
            let there = tenant::find_by_slug(app, permit, SLUG).await?;
            Ok(there.ok_or(Error::NotFound("tenant"))?.id)
        }
        created => Ok(created?.id),
    }
}

fn namespace() -> Result<auth::Namespace> {
    "default".parse().map_err(|error: String| Error::internal(error))
}

fn demo_token() -> Result<NewToken> {
    Ok(NewToken {
        name: "local stack, for MCP".to_owned(),
        namespace: namespace()?,
        capabilities: Rights::all(),
        scopes: None,
        sensitivity: usual_sensitivity(),
        actor: auth::Actor::default(),
        expires_at: None,
    })
}

fn demo_key() -> NewKey {
    NewKey {
        name: "local stack".to_owned(),
        namespaces: vec![auth::NamespacePattern::every()],
        capabilities: Rights::all(),
        sensitivity: usual_sensitivity(),
        control: true,
        actor: auth::Actor::default(),
        expires_at: None,
    }
}
