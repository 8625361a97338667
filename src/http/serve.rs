//! Routes on a port.

use std::io;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;

use crate::app::App;

/// Answers on a listener until the app stops; then takes no new connections and lets requests under way finish.
pub async fn serve(app: App, listener: TcpListener, routes: Router) -> io::Result<()> {
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "answers to a client may be delayed");
        }
    });
    axum::serve(listener, routes).with_graceful_shutdown(async move { app.stopped().await }).await
}
