//! Closing a session (XB-69), and making what came of it last.
//!
//! What is consolidated is written before the session is closed, in transactions of its own. A close that breaks off
//! leaves an active session, and the next one finds what the first has written as duplicates. A decision that comes in
//! meanwhile is consolidated too: the last transaction closes only a session whose decisions were all seen to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::consolidate::{Consolidated, Consolidation, MAX_DECISIONS};
use super::{Outcome, Session, SessionStatus, check_more, parse_session, store};
use crate::app::App;
use crate::auth::{Action, Area, Caller, Permit};
use crate::db::{TenantTx, with_retry};
use crate::error::{Error, Result};
use crate::id::SessionId;
use crate::idempotency::{self, Answer, Claim, Key};
use crate::memory::{Scope, ScopeKind, Sensitivity};
use crate::working::settle::{DoneSlots, SettledSlot};

/// How often decisions may come in while others are made durable.
const ROUNDS: usize = 8;

/// How a session ends. Unknown members are passed over.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CloseSession")]
pub struct Close {
    /// How it ended; `completed` unless given.
    #[serde(default)]
    pub outcome: Option<Outcome>,
    /// What came of it: at most 65,536 bytes. A session that is closed already keeps its own.
    #[serde(default)]
    pub summary: Option<String>,
    /// Whether its decisions, at most 1,000, and its summary become durable memory. Needs `write` on `memory.durable`.
    #[serde(default)]
    pub consolidate: bool,
    /// Whose memory they become; the agent's unless given.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// Slots of the working memory whose task is done. Needs `delete` on `memory.working`; to consolidate any, `read`
    /// there and `write` on `memory.durable`.
    #[serde(default)]
    pub slots: Option<DoneSlots>,
}

/// A session that is closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ClosedSession")]
pub struct Closed {
    /// The session.
    pub session: Session,
    /// What became of its decisions and its summary, if they were to be consolidated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consolidated: Option<Vec<Consolidated>>,
    /// What became of the slots, if any were named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<Vec<SettledSlot>>,
}

/// What was done before a session is closed.
#[derive(Debug, Default)]
struct Done {
    /// How many decisions were made durable, if they were to be.
    decisions: Option<i64>,
    consolidated: Option<Vec<Consolidated>>,
    slots: Option<Vec<SettledSlot>>,
}

/// Closes a session. One that is closed with the same outcome stays as it is; with another it is a `Conflict`.
pub async fn close(
    app: &App,
    caller: &Caller,
    id: &str,
    close: Close,
    key: Option<Key>,
) -> Result<Answer<Closed>> {
    let permit = &caller.permit(Action::Write, Area::Cognitive)?;
    let durable = close.consolidate.then(|| caller.permit(Action::Write, Area::Durable)).transpose()?;
    if let Some(slots) = &close.slots {
        slots.permit(caller)?;
    }
    let once = idempotency::run(app, permit, key, |claim| async move {
        let id = parse_session("id", id)?;
        let close = close.check()?;
        if durable.is_none() && close.slots.is_none() {
            let closed = settle(app, permit, id, &close, &Done::default(), &claim).await?;
            return closed.ok_or_else(Error::collision);
        }
        consolidate(app, caller, permit, durable.as_ref(), id, close, &claim).await
    });
    Box::pin(once).await
}

impl Close {
    fn check(mut self) -> Result<Self> {
        self.summary = check_more("summary", self.summary)?;
        if let Some(scope) = &self.scope {
            scope.check("scope")?;
        }
        Ok(self)
    }

    fn outcome(&self) -> Outcome {
        self.outcome.unwrap_or_default()
    }

    /// Refuses to close again in another way.
    fn meet(&self, session: &Session) -> Result<()> {
        match session.outcome {
            Some(outcome) if outcome != self.outcome() => {
                Err(Error::Conflict("the session is closed with another outcome".into()))
            }
            _ => Ok(()),
        }
    }
}

/// Makes what came of the session last, then closes it.
async fn consolidate(
    app: &App,
    caller: &Caller,
    permit: &Permit,
    durable: Option<&Permit>,
    id: SessionId,
    close: Close,
    claim: &Claim,
) -> Result<Answer<Closed>> {
    let mut session = find(app, permit, id).await?;
    close.meet(&session)?;
    let own = Scope { kind: ScopeKind::Agent, key: session.agent_id.clone() };
    let scope = close.scope.clone().unwrap_or(own);
    if let Some(durable) = durable {
        durable.require(&scope, Sensitivity::Normal)?;
    }
    // Whatever can be refused is refused before anything is done.
    let mut slots = match close.slots.clone() {
        Some(slots) => Some(slots.find(app, caller).await?),
        None => None,
    };
    let mut done = Done::default();
    let mut work = durable.map(|durable| Consolidation::new(durable, id, scope.clone()));
    for round in 0..ROUNDS {
        if let Some(work) = &mut work {
            check_count(&session)?;
            work.decisions(app, permit).await?;
            if round == 0 {
                // A session that is closed has its summary, or has none.
                let is_closed = session.status == SessionStatus::Closed;
                let summary = if is_closed { &session.summary } else { &close.summary };
                work.summary(app, summary.as_deref()).await?;
            }
            (done.decisions, done.consolidated) = (Some(work.count), Some(work.results.clone()));
        }
        if let Some(slots) = slots.take() {
            done.slots = Some(slots.settle(app, caller, &scope).await?);
        }
        if let Some(closed) = settle(app, permit, id, &close, &done, claim).await? {
            return Ok(closed);
        }
        session = find(app, permit, id).await?;
    }
    Err(Error::collision())
}

async fn find(app: &App, permit: &Permit, id: SessionId) -> Result<Session> {
    let mut tx = app.db.begin(permit).await?;
    store::find(&mut tx, id).await?.ok_or(Error::NotFound("session"))
}

fn check_count(session: &Session) -> Result<()> {
    let (count, limit) = (session.decision_count.unsigned_abs(), MAX_DECISIONS.unsigned_abs());
    if count > limit {
        let rule = format!("is for sessions of at most {limit} decisions");
        return Err(Error::over_limit("consolidate", rule, limit, count));
    }
    Ok(())
}

/// Closes the session, unless it has decisions that were not seen to: then nothing.
async fn settle(
    app: &App,
    permit: &Permit,
    id: SessionId,
    close: &Close,
    done: &Done,
    claim: &Claim,
) -> Result<Option<Answer<Closed>>> {
    with_retry(|| async {
        let (now, summary) = (app.clock.now(), close.summary.as_deref());
        let mut tx = app.db.begin(permit).await?;
        let closed = store::close(&mut tx, permit, id, close.outcome(), summary, done.decisions, now).await?;
        let session = if closed.is_some() { closed } else { find_closed(&mut tx, id, close, done).await? };
        let Some(session) = session else { return Ok(None) };
        let (consolidated, slots) = (done.consolidated.clone(), done.slots.clone());
        let answer = Answer::ok(Closed { session, consolidated, slots });
        claim.settle(&mut tx, permit, &answer).await?;
        tx.commit().await?;
        Ok(Some(answer))
    })
    .await
}

/// The session, if it was closed before, in the same way and with all its decisions seen to.
async fn find_closed(
    tx: &mut TenantTx,
    id: SessionId,
    close: &Close,
    done: &Done,
) -> Result<Option<Session>> {
    let session = store::find(tx, id).await?.ok_or(Error::NotFound("session"))?;
    close.meet(&session)?;
    let is_seen_to = done.decisions.is_none_or(|count| count == session.decision_count);
    Ok(Some(session).filter(|session| session.status == SessionStatus::Closed && is_seen_to))
}
