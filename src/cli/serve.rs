//! `memtide serve`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use crate::app::App;
use crate::clock::Clock;
use crate::config::Config;
use crate::db;
use crate::embed::Embedder;
use crate::{http, job, memory, telemetry};

/// How long requests under way may take after the signal to end.
const DRAIN: Duration = Duration::from_secs(25);

/// How long WebSockets may take to close after that.
const GOODBYE: Duration = Duration::from_secs(2);

/// Serves the API until SIGTERM or ctrl-C.
pub async fn run(config: Config) -> anyhow::Result<()> {
    let app = connect(config).await?;
    let listener = bind(&app)?;
    serve(app, listener).await
}

/// Puts the parts together and refuses to go on without a database that can be served from.
pub async fn connect(config: Config) -> anyhow::Result<App> {
    db::reach(&config.database).await?;
    let embedder = Embedder::connect(config.embedding.clone()).await.context("the embedder")?;
    let app = App::new(config, Arc::new(embedder), telemetry::metrics()?, Clock::default())?;
    db::check_role(&app.db).await?;
    db::check_schema(&app.db).await?;
    app.start().await?;
    if app.kv.ping().await.is_err() {
        tracing::warn!("REDIS_URL: Redis does not answer; working memory is unavailable until it does");
    }
    Ok(app)
}

/// Takes the address that the configuration names.
pub fn bind(app: &App) -> anyhow::Result<TcpListener> {
    let address = app.config.http.address;
    http::listen(address).with_context(|| format!("cannot listen on {address}"))
}

/// Serves the API, and metrics if they have an address of their own, until the signal to end.
///
/// The process is not ready from then on, takes no new connections and lets requests under way finish.
pub async fn serve(app: App, listener: TcpListener) -> anyhow::Result<()> {
    tokio::spawn(stop_on_signal(app.clone()));
    let jobs = tokio::spawn(job::run(app.clone()));
    if let Some(address) = app.config.http.metrics_address {
        let listener = http::listen(address).with_context(|| format!("cannot listen on {address}"))?;
        tokio::spawn(http::serve(app.clone(), listener, http::metrics_router(&app)));
    }
    tracing::info!(address = %listener.local_addr()?, "serving");
    let server = http::serve(app.clone(), listener, http::router(&app));
    let too_long = async {
        app.stopped().await;
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        () = server => {}
        () = too_long => tracing::warn!("some requests were not finished in time"),
    }
    close_streams(&app).await;
    finish(&app, jobs).await;
    tracing::info!("stopped");
    Ok(())
}

/// Lets WebSockets say goodbye: no request waits for them.
async fn close_streams(app: &App) {
    let start = Instant::now();
    while app.events.open() > 0 && start.elapsed() < GOODBYE {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Waits until jobs are given back, and writes down what was only counted so far, as far as the database lets it.
async fn finish(app: &App, jobs: JoinHandle<()>) {
    let last_words = async {
        if jobs.await.is_err() {
            tracing::error!("jobs ended with a fault: others take them when their leases end");
        }
        if let Err(error) = memory::access::flush(app).await {
            tracing::warn!(%error, "some reads were not counted");
        }
        app.db.close().await;
    };
    if tokio::time::timeout(Duration::from_secs(2), last_words).await.is_err() {
        tracing::warn!("the database did not answer in the end");
    }
}

async fn stop_on_signal(app: App) {
    let interrupt = signal(SignalKind::interrupt());
    let terminate = signal(SignalKind::terminate());
    let (Ok(mut interrupt), Ok(mut terminate)) = (interrupt, terminate) else {
        tracing::error!("signals cannot be heard; the process ends at once when told to");
        return;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    tracing::info!("stopping: requests under way are finished");
    app.stop();
}
