//! Routes on a port, for clients that may be slow, silent or gone.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_io_timeout::TimeoutStream;

use crate::app::App;

/// How many connections may wait to be taken. The usual 128 are less than a burst of clients: the kernel resets the
/// rest in the middle of their first request. The kernel's own limit is often lower, and then counts.
const WAITING_CONNECTIONS: u32 = 4_096;

/// How long a connection may be silent before and between requests, and take to send the head of one (C045).
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client may take no byte of its answer: until then the answer is in memory.
const STALL_TIMEOUT: Duration = Duration::from_secs(15);

/// How often a client of HTTP/2 is asked whether it is still there, and how long it may take to say so.
const PING: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(10));

/// How long to wait when the process can take no more connections.
const NO_ROOM_PAUSE: Duration = Duration::from_millis(200);

/// Takes an address.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // As every listener does, so that a restart need not wait for old connections to be forgotten.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_CONNECTIONS)
}

/// Answers on a listener until the app stops; then takes no new connections and lets requests under way finish.
pub async fn serve(app: App, listener: TcpListener, routes: Router) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(PING.0).keep_alive_timeout(PING.1);
    let connections = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = app.stopped() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(NO_ROOM_PAUSE).await;
                continue;
            }
        };
        let (builder, service) = (builder.clone(), TowerToHyperService::new(routes.clone()));
        let watcher = connections.watcher();
        tokio::spawn(async move {
            let Some(stream) = begun(stream).await else { return };
            let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
            if let Err(error) = watcher.watch(connection.into_owned()).await {
                tracing::debug!(error, "a connection ended early");
            }
        });
    }
    drop(listener);
    connections.shutdown().await;
}

/// The connection, once the client has said something.
async fn begun(stream: TcpStream) -> Option<std::pin::Pin<Box<TimeoutStream<TcpStream>>>> {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "answers to a client may be delayed");
    }
    tokio::time::timeout(HEAD_TIMEOUT, stream.readable()).await.ok()?.ok()?;
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STALL_TIMEOUT));
    Some(Box::pin(stream))
}
