//! Words that one node sends to the others through Postgres (LISTEN and NOTIFY).

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
