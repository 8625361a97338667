//! The real service on a database of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use memtide::app::App;
use memtide::auth::{OperatorPermit, Rights};
use memtide::clock::Clock;
use memtide::config::{Config, Http, Redis, Secret, Telemetry};
use memtide::embed::{EmbedConfig, Embedder, LocalConfig};
use memtide::extract::ExtractConfig;
use memtide::id::TenantId;
use memtide::{http, tenant};
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::client::Client;
use super::db::{TestDb, env, find_env};

/// The real service on a database of its own.
pub struct TestApp {
    /// Its parts.
    pub app: App,
    /// Its routes.
    pub router: Router,
    may_leave_jobs: AtomicBool,
    /// Its database, dropped last.
    pub db: TestDb,
}

/// A tenant with a key and a capability for everything in namespace `default`.
pub struct Made {
    /// The tenant.
    pub id: TenantId,
    /// An API key for every namespace and every right, with control.
    pub key: String,
    /// A capability for every right, with control.
    pub capability: String,
    /// A caller that holds the capability.
    pub client: Client,
}

impl TestApp {
    /// Starts the service with the local model, which is loaded once for all tests.
    pub async fn start() -> Self {
        Self::start_with(embedder().await).await
    }

    /// Starts the service without an embedder, for tests that search nothing by meaning.
    pub async fn start_lexical() -> Self {
        Self::start_with(Arc::new(Embedder::Off)).await
    }

    /// Starts the service with an embedder of the test's own.
    pub async fn start_with(embedder: Arc<Embedder>) -> Self {
        Self::start_configured(embedder, |_| {}).await
    }

    /// Starts the service with an embedder and settings of the test's own.
    pub async fn start_configured(embedder: Arc<Embedder>, change: impl FnOnce(&mut Config)) -> Self {
        let db = TestDb::create().await;
        let mut config = config(&db);
        change(&mut config);
        let metrics = PrometheusBuilder::new().build_recorder().handle();
        let app = App::new(config, embedder, metrics, Clock::default()).unwrap();
        app.start().await.unwrap();
        let router = http::router(&app);
        Self { app, router, may_leave_jobs: AtomicBool::new(false), db }
    }

    /// Starts the service without an embedder, on a Redis of the test's own.
    pub async fn start_on_redis(url: &str) -> Self {
        Self::start_there(url, false).await
    }

    /// The same on a Cluster, of which this is a node.
    pub async fn start_on_cluster(url: &str) -> Self {
        Self::start_there(url, true).await
    }

    async fn start_there(url: &str, is_cluster: bool) -> Self {
        let url = Secret::new(url.to_owned());
        Self::start_configured(Arc::new(Embedder::Off), |config| {
            config.redis.urls = vec![url];
            config.redis.is_cluster = is_cluster;
        })
        .await
    }

    /// A second node on the same database, with the same secret and the same clock.
    pub async fn second_node(&self) -> (App, Router) {
        self.second_node_with(Arc::clone(&self.app.embedder)).await
    }

    /// The same with another embedder.
    pub async fn second_node_with(&self, embedder: Arc<Embedder>) -> (App, Router) {
        let metrics = PrometheusBuilder::new().build_recorder().handle();
        let app = App::new((*self.app.config).clone(), embedder, metrics, self.app.clock.clone()).unwrap();
        app.start().await.unwrap();
        let router = http::router(&app);
        (app, router)
    }

    /// Says that jobs may be left over, or have failed: else the test fails in the end.
    pub fn leaves_jobs(&self) {
        self.may_leave_jobs.store(true, Ordering::Relaxed);
    }

    /// A caller without a token.
    pub fn anyone(&self) -> Client {
        Client::new(self.router.clone())
    }

    /// A new tenant with a key and a capability.
    pub async fn tenant(&self, slug: &str) -> Made {
        let operator = OperatorPermit::command_line();
        let new = serde_json::from_value(json!({ "slug": slug, "name": slug })).unwrap();
        let tenant = tenant::create(&self.app, &operator, new).await.unwrap();
        let everything = json!({
            "name": "everything",
            "namespaces": ["*"],
            "capabilities": Rights::all(),
            "sensitivity": ["normal", "personal", "secret_like", "regulated"],
            "control": true,
        });
        let key = self.api_key(tenant.id, everything).await.1;
        let capability = self.exchange(&key, json!({ "namespace": "default", "control": true })).await;
        let client = self.anyone().capability(&capability);
        Made { id: tenant.id, key, capability, client }
    }

    /// A capability bought with an API key.
    pub async fn exchange(&self, key: &str, request: Value) -> String {
        let reply = self.anyone().bearer(key).post("/v1/auth/token", request).await.expect(200);
        reply["capability"].as_str().unwrap().to_owned()
    }

    /// The service on a port of the system's choice, for streams, sockets and many clients.
    pub async fn serve(&self) -> SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = self.router.clone();
        tokio::spawn(http::serve(self.app.clone(), listener, router));
        address
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        self.app.stop();
        if std::thread::panicking() || self.may_leave_jobs.load(Ordering::Relaxed) {
            return;
        }
        let left = std::thread::scope(|scope| scope.spawn(|| self.db.jobs_left()).join().unwrap());
        assert!(left.is_empty(), "these jobs are not done: {left:?}");
    }
}

async fn embedder() -> Arc<Embedder> {
    static EMBEDDER: OnceCell<Arc<Embedder>> = OnceCell::const_new();
    let load = || async {
        let local = LocalConfig { model_dir: env("MEMTIDE_MODEL_DIR").into(), workers: 2 };
        Arc::new(Embedder::connect(EmbedConfig::Local(local)).await.unwrap())
    };
    Arc::clone(EMBEDDER.get_or_init(load).await)
}

/// The Redis of a test, with a prefix of its own.
fn redis_of(db: &TestDb) -> Redis {
    // Set by the test that runs all others of working memory once more.
    let cluster = find_env(super::redis::CLUSTER);
    let is_cluster = cluster.is_some();
    let urls = cluster.unwrap_or_else(|| env("REDIS_URL"));
    Redis { urls: urls.split(',').map(Secret::new).collect(), is_cluster, prefix: format!("{}:", db.name()) }
}

fn config(db: &TestDb) -> Config {
    Config {
        http: Http {
            address: ([127, 0, 0, 1], 0).into(),
            metrics_address: None,
            public_url: "http://127.0.0.1".to_owned(),
            access_token: None,
            socket_idle: Duration::from_mins(1),
            socket_slow: Duration::from_secs(20),
            mcp_origins: Vec::new(),
        },
        database: db.config(),
        redis: redis_of(db),
        secret: Secret::new("a secret for tests, of 32 bytes or more"),
        embedding: EmbedConfig::Off,
        extraction: ExtractConfig::Rules,
        telemetry: Telemetry { filter: "warn".to_owned(), json: false, otlp_endpoint: None },
        tenant_limits: memtide::tenant::Limits::default(),
        local: false,
        dev_dir: std::env::temp_dir(),
    }
}
