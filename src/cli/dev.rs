//! `memtide dev`: a local stack for one developer.

use anyhow::Context;

use super::serve;
use super::stack::Stack;
use crate::app::App;
use crate::config::Config;
use crate::db;

/// Migrates, makes tenant `demo` once, prints how to use it and serves.
pub async fn run(mut config: Config) -> anyhow::Result<()> {
    config.local = true;
    // Without a superuser somebody else has migrated; `connect` looks whether that is so.
    if config.database.admin_url.is_some() {
        db::migrate(&config.database).await?;
    }
    let app = serve::connect(config).await?;
    let listener = serve::bind(&app)?;
    let file = app.config.dev_dir.join("env");
    let stack = Stack::read(&file).complete(&app).await?;
    stack.write(&file).with_context(|| format!("cannot write {}", file.display()))?;
    print(&app, &stack, &file.display().to_string());
    serve::serve(app, listener).await
}

fn print(app: &App, stack: &Stack, file: &str) {
    let url = &app.config.http.public_url;
    let bearer = app.config.http.access_token.as_ref();
    let bearer = bearer
        .map_or_else(String::new, |token| format!(" \\\n  -H 'authorization: Bearer {}'", token.expose()));
    let capability = &stack.capability;
    let curl = |path: &str, body: &str| {
        format!(
            "curl -s {url}{path} \\\n  -H 'x-akasha-capability: {capability}'{bearer} \\\n  \
             -H 'content-type: application/json' \\\n  -d '{body}'"
        )
    };
    let remember = curl(
        "/v1/memory/items",
        r#"{"scope": {"kind": "user", "key": "alice"}, "category": "preference", "content": "Alice takes her coffee black."}"#,
    );
    let search = curl("/v1/memory/search", r#"{"query": "How does Alice like her coffee?"}"#);
    println!(
        "Memtide serves at {url}\n\nDocumentation: {url}/docs\nTokens: {file} (for a shell: . {file})\n\
         Capability of tenant demo, good for 30 days:\n{capability}\n\nRemember something:\n{remember}\n\n\
         Find it:\n{search}\n\n\
         For an MCP client: {url}/mcp, with `Authorization: Bearer {}`\n",
        stack.mcp_token
    );
}
