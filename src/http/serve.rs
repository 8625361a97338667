//! Routes on a port.

use std::io;
use std::net::SocketAddr;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::{TcpListener, TcpSocket};

use crate::app::App;

/// How many connections may wait to be taken. The usual 128 are less than a burst of clients: the kernel resets the
/// rest in the middle of their first request. The kernel's own limit is often lower, and then counts.
const WAITING_CONNECTIONS: u32 = 4_096;

/// Takes an address.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // As every listener does, so that a restart need not wait for old connections to be forgotten.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_CONNECTIONS)
}

/// Answers on a listener until the app stops; then takes no new connections and lets requests under way finish.
pub async fn serve(app: App, listener: TcpListener, routes: Router) -> io::Result<()> {
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "answers to a client may be delayed");
        }
    });
    axum::serve(listener, routes).with_graceful_shutdown(async move { app.stopped().await }).await
}
