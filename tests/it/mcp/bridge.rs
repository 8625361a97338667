//! `memtide mcp`, as a client starts it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use memtide::auth::Rights;
use serde_json::{Value, json};

use crate::support::process::free_port;
use crate::support::{TestApp, each};

/// How long an answer may take; a debug build on a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running bridge.
struct Bridge {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Bridge {
    fn start(url: &str, token: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memtide"));
        command.arg("mcp").env_clear().env("MEMTIDE_URL", url).env("MEMTIDE_MCP_TOKEN", token);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines() {
                // The test is over.
                let _ = sender.send(line.unwrap());
            }
        });
        Self { input: child.stdin.take(), child, lines }
    }

    fn say(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.say(&json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params }).to_string());
        let answer = self.next();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(method)), "{answer}");
        answer
    }

    fn next(&self) -> Value {
        serde_json::from_str(&self.lines.recv_timeout(PATIENCE).unwrap()).unwrap()
    }

    /// Ends its input, and gives its exit code and what it said besides.
    fn end(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let code = self.child.wait().unwrap().code();
        assert_eq!(self.lines.try_iter().count(), 0, "nothing else stands on standard output");
        (code, said)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // It may have ended already, and then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// XD-02, R-36: the same four tools without HTTP.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_http_speaks_through_the_bridge_xd02_r36() {
    let app = TestApp::start_lexical().await;
    let url = format!("http://{}", app.serve().await);
    let made = app.tenant("acme").await;
    let token = json!({ "name": "t", "namespace": "default", "capabilities": Rights::all() });
    let token = app.personal_token(made.id, token).await.1;
    let mut bridge = Bridge::start(&url, &token);
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    assert_eq!(bridge.ask("initialize", &hello)["result"]["serverInfo"]["name"], "WorkingMemory");
    bridge.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let listed = bridge.ask("tools/list", &json!({}))["result"]["tools"].clone();
    let over_http = made.client.mcp("tools/list", json!({})).await.expect(200)["result"]["tools"].clone();
    assert_eq!(listed, over_http);
    assert_eq!(each(&listed, "name")[0], "save_memory");
    let save =
        json!({ "name": "save_memory", "arguments": { "text": "- Rex is a dog\n- Tom is a cat\u{2028}" } });
    let saved = bridge.ask("tools/call", &save);
    assert_eq!(saved["result"]["structuredContent"]["count"], 2, "{saved}");
    let search = json!({ "name": "search_memory", "arguments": { "query": "dog", "dedupe_recent": false } });
    let found = bridge.ask("tools/call", &search)["result"]["structuredContent"].clone();
    assert_eq!(found["relevant"][0]["text"], "Rex is a dog");
    let delete = json!({ "action": "delete", "id": found["relevant"][0]["id"] });
    let deleted = bridge.ask("tools/call", &json!({ "name": "manage_memory", "arguments": delete }));
    assert_eq!(deleted["result"]["structuredContent"]["deleted"], true, "{deleted}");
    bridge.say("{ no json");
    assert_eq!(bridge.next()["error"]["code"], -32700);
    assert_eq!(bridge.ask("no/such", &json!({}))["error"]["code"], -32601);
    let (code, said) = bridge.end();
    assert_eq!((code, said.as_str()), (Some(0), ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_without_a_server_or_a_good_token_says_so() {
    let away = format!("http://127.0.0.1:{}", free_port());
    let mut bridge = Bridge::start(&away, "mt_pat_x");
    let answer = bridge.ask("ping", &json!({}));
    assert_eq!(answer["error"]["code"], -32050, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains(&away), "{answer}");
    bridge.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(bridge.end().0, Some(0), "it has not crashed");

    let app = TestApp::start_lexical().await;
    let url = format!("http://{}", app.serve().await);
    let mut bridge = Bridge::start(&url, "mt_pat_x");
    let answer = bridge.ask("ping", &json!({}));
    assert_eq!(answer["error"]["code"], -32001, "{answer}");
    let (code, said) = bridge.end();
    assert!(code == Some(0) && !said.contains("mt_pat_x"), "{said}");

    let mut command = Command::new(env!("CARGO_BIN_EXE_memtide"));
    let ended = command.arg("mcp").env_clear().stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success() && said.contains("MEMTIDE_MCP_TOKEN"), "{said}");
}
