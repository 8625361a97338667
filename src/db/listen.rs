//! Words that one node sends to the others through Postgres (LISTEN and NOTIFY).

use std::time::Duration;

use sqlx::PgConnection;
use sqlx::postgres::{PgListener, PgPoolOptions};

use super::{ACQUIRE_TIMEOUT, Db};
use crate::error::Result;

/// Hears what is sent on one channel.
#[derive(Debug)]
pub struct Listener(PgListener);

impl Db {
    /// Listens on a channel, on a connection beside the pool's: it is never given back.
    pub async fn listen(&self, channel: &str) -> Result<Listener> {
        let options = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        let options = options.acquire_timeout(ACQUIRE_TIMEOUT);
        let own = options.connect_lazy_with((*self.pool.connect_options()).clone());
        let mut listener = PgListener::connect_with(&own).await?;
        listener.listen(channel).await?;
        Ok(Listener(listener))
    }
}

/// Waits for words of changes on a channel, over broken connections.
#[derive(Debug)]
pub struct Follower {
    channel: &'static str,
    poll: Duration,
    listener: Option<Listener>,
}

impl Follower {
    /// Follows a channel, and looks in any case after so long a silence.
    pub fn new(channel: &'static str, poll: Duration) -> Self {
        Self { channel, poll, listener: None }
    }

    /// Waits for word of a change, or until it is time to look in any case.
    pub async fn next(&mut self, db: &Db) {
        if self.listener.is_none() {
            let opening = tokio::time::timeout(self.poll, db.listen(self.channel)).await;
            self.listener = opening.ok().and_then(Result::ok);
        }
        let Some(open) = &mut self.listener else { return tokio::time::sleep(self.poll).await };
        if let Ok(Err(error)) = tokio::time::timeout(self.poll, open.changed()).await {
            tracing::warn!(%error, channel = self.channel, "no word of changes comes any more");
            self.listener = None;
        }
    }

    /// Begins anew: the connection may be gone, and would never say so.
    pub fn restart(&mut self) {
        self.listener = None;
    }
}

/// Sends a word on a channel, at commit.
pub async fn notify(connection: &mut PgConnection, channel: &str) -> Result<()> {
    sqlx::query!("SELECT pg_notify($1, '')", channel).execute(connection).await?;
    Ok(())
}

impl Listener {
    /// Waits until something was sent, or may have been sent while the connection was broken.
    pub async fn changed(&mut self) -> Result<()> {
        self.0.try_recv().await?;
        // What came in the meantime is answered by the same look.
        while self.0.next_buffered().is_some() {}
        Ok(())
    }

    /// Waits until something was sent, and gives all of it. Nothing when something may have been missed, because the
    /// connection was broken.
    pub async fn heard(&mut self) -> Result<Option<Vec<String>>> {
        let Some(first) = self.0.try_recv().await? else { return Ok(None) };
        let mut words = vec![first.payload().to_owned()];
        while let Some(next) = self.0.next_buffered() {
            words.push(next.payload().to_owned());
        }
        Ok(Some(words))
    }
}
