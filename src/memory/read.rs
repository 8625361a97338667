//! Getting one record and listing many.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::draft::{check_key, require_namespace};
use super::filter::Filter;
use super::forget::is_gone;
use super::key::Identity;
use super::text::normal_form;
use super::{Category, Record, Scope, Status, store};
use crate::app::App;
use crate::auth::{Action, Area, Caller, Namespace, Permit};
use crate::error::{Error, Result};
use crate::id::{MemoryId, ParseIdError};
use crate::page::{CursorScope, Limit, given};

/// Which record is wanted: one id, or one scope and key (XC-11).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// The record's id.
    #[serde(default)]
    pub memory_id: Option<String>,
    /// The scope of the key.
    #[serde(default)]
    pub scope: Option<Scope>,
    /// The record's key.
    #[serde(default)]
    pub key: Option<String>,
    /// The token's namespace, or nothing.
    #[serde(default)]
    pub namespace: Option<Namespace>,
    /// Whether a forgotten record is given too.
    #[serde(default)]
    pub include_deleted: bool,
}

/// Which records to list. Absent members do not limit; status is `active` unless given.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only these scopes.
    #[serde(default)]
    pub scopes: Option<Vec<Scope>>,
    /// Only these categories.
    #[serde(default)]
    pub categories: Option<Vec<Category>>,
    /// Only these statuses.
    #[serde(default)]
    pub statuses: Option<Vec<Status>>,
    /// Only records whose content holds this text, in any case and spelling: 1 to 4,096 bytes.
    #[serde(default)]
    pub query: Option<String>,
    /// How many a page holds.
    #[serde(default)]
    pub limit: Option<Limit>,
    /// Where the page before ended.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// Which records to list, as a query string.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    /// Only this scope, written `kind:key`. May be repeated.
    #[serde(default)]
    pub scope: Vec<String>,
    /// Only this category. May be repeated.
    #[serde(default)]
    pub category: Vec<Category>,
    /// Only this status; `active` unless given. May be repeated.
    #[serde(default)]
    pub status: Vec<Status>,
    /// Only records whose content holds this text.
    #[serde(default, deserialize_with = "given")]
    pub query: Option<String>,
    /// The key of the one record wanted; needs one scope.
    #[serde(default, deserialize_with = "given")]
    pub key: Option<String>,
    /// How many a page holds: 1 to 100, 20 unless given.
    #[serde(default, deserialize_with = "given")]
    pub limit: Option<String>,
    /// Where the page before ended.
    #[serde(default, deserialize_with = "given")]
    pub cursor: Option<String>,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordReply {
    /// The record.
    pub record: Record,
}

/// The most text in a page, in bytes: a page with more ends early, and the next begins there. Escaped as JSON and with
/// all else, an answer is up to eight times as long, and is in memory until the client has taken it.
const MAX_PAGE_BYTES: usize = 1 << 20;

/// A page of records, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordPage {
    /// The records.
    pub records: Vec<Record>,
    /// Where the next page starts, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Gives the record of an id or of a scope and key; nothing when there is none for this token.
pub async fn find(app: &App, caller: &Caller, get: &Get) -> Result<Option<Record>> {
    let permit = caller.permit(Action::Read, Area::Durable)?;
    require_namespace(&permit, get.namespace.as_ref())?;
    let target = Target::of(get)?;
    let mut tx = app.db.begin(&permit).await?;
    let record = match target {
        Target::Nothing => None,
        Target::Id(id) => store::find_many(&mut tx, &[id]).await?.pop(),
        Target::Key(identity) => store::find_by_identity(&mut tx, identity).await?,
    };
    let now = app.clock.now();
    let record = record
        .filter(|record| !is_gone(record, now))
        .filter(|record| permit.sees(&record.scope, record.sensitivity))
        .filter(|record| record.status != Status::Deleted || get.include_deleted);
    if let Some(record) = &record {
        app.accesses.got(&tx, record, now);
    }
    Ok(record.map(|record| shown(record, now)))
}

/// The record of an id, whatever its status, if it exists for the token.
pub async fn find_seen(app: &App, permit: &Permit, id: MemoryId) -> Result<Record> {
    let mut tx = app.db.begin(permit).await?;
    let found = store::find_many(&mut tx, &[id]).await?.pop();
    let found = found.filter(|record| !is_gone(record, app.clock.now()));
    found.filter(|record| permit.sees(&record.scope, record.sensitivity)).ok_or(Error::NotFound("memory"))
}

enum Target {
    /// The id of something that is no memory.
    Nothing,
    Id(MemoryId),
    Key(Identity),
}

impl Target {
    fn of(get: &Get) -> Result<Self> {
        match (&get.memory_id, &get.scope, &get.key) {
            (Some(id), None, None) => match id.parse() {
                Ok(id) => Ok(Self::Id(id)),
                Err(ParseIdError::OtherKind) => Ok(Self::Nothing),
                Err(error) => Err(Error::invalid("memory_id", error.to_string())),
            },
            (None, Some(scope), Some(key)) => {
                scope.check("scope")?;
                check_key(Some(key))?;
                Ok(Self::Key(Identity::of_key(scope, key)))
            }
            _ => Err(Error::invalid("", "exactly one of `memory_id` and `scope` with `key` is wanted")),
        }
    }
}

/// A record as it is shown: one whose time is over is expired, whether or not the sweeper has seen it (XC-20).
pub fn shown(mut record: Record, now: chrono::DateTime<chrono::Utc>) -> Record {
    if record.status == Status::Active && record.expires_at.is_some_and(|at| at.0 <= now) {
        record.status = Status::Expired;
    }
    record
}

/// Gives a page of records, newest first.
pub async fn list(app: &App, caller: &Caller, list: &List) -> Result<RecordPage> {
    let permit = caller.permit(Action::Read, Area::Durable)?;
    let statuses = list.statuses.clone().unwrap_or_else(|| vec![Status::Active]);
    let filter = Filter::new(&permit, list.scopes.as_deref(), list.categories.as_deref(), &statuses, None)?;
    let words = list.query.as_deref().map(check_words).transpose()?;
    let (now, limit) = (app.clock.now(), list.limit.unwrap_or_default().get());
    let cursors = cursor_scope(&permit, list)?;
    let before = list.cursor.as_deref().map(|cursor| cursors.place(&app.seal, now, cursor)).transpose()?;
    if filter.is_empty() {
        return Ok(RecordPage { records: Vec::new(), next_cursor: None });
    }
    let mut tx = app.db.begin(&permit).await?;
    tx.plan_for_values().await?;
    let mut ids = store::list_ids(&mut tx, &filter, words.as_deref(), before, limit + 1, now).await?;
    let has_more = ids.len() > limit;
    ids.truncate(limit);
    let mut records = store::find_many(&mut tx, &ids).await?;
    records.sort_by_key(|record| std::cmp::Reverse(record.id));
    let fitting = within(MAX_PAGE_BYTES, &records);
    let has_more = has_more || fitting < records.len();
    records.truncate(fitting);
    let last = records.last().map(|record| record.id).filter(|_| has_more);
    records.retain(|record| !is_gone(record, now));
    let next_cursor = last.map(|last| cursors.cursor(&app.seal, now, &last)).transpose()?;
    Ok(RecordPage { records: records.into_iter().map(|record| shown(record, now)).collect(), next_cursor })
}

/// How many of the first records have at most so many bytes of text together; at least one.
fn within(bytes: usize, records: &[Record]) -> usize {
    let sums = records.iter().scan(0, |sum, record| {
        *sum += record.content.len();
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= bytes).count().max(1)
}

/// Gives the page that a query string asks for; with a key, the one active record that has it, if there is one.
pub async fn list_asked(app: &App, caller: &Caller, query: ListQuery) -> Result<RecordPage> {
    caller.permit(Action::Read, Area::Durable)?;
    let scopes: Vec<Scope> = query.scope.iter().map(|scope| parse("scope", scope)).collect::<Result<_>>()?;
    if query.key.is_some() {
        let record = find(app, caller, &query.wanted(&scopes)?).await?;
        let record = record.filter(|record| record.status == Status::Active);
        return Ok(RecordPage { records: record.into_iter().collect(), next_cursor: None });
    }
    let question = List {
        scopes: some(scopes),
        categories: some(query.category),
        statuses: some(query.status),
        query: query.query,
        limit: query.limit.as_deref().map(|limit| parse("limit", limit)).transpose()?,
        cursor: query.cursor,
    };
    list(app, caller, &question).await
}

impl ListQuery {
    /// The one record of a scope and key.
    fn wanted(&self, scopes: &[Scope]) -> Result<Get> {
        let [scope] = scopes else { return Err(Error::invalid("key", "needs exactly one scope beside it")) };
        let is_alone = self.category.is_empty()
            && self.status.is_empty()
            && self.query.is_none()
            && self.cursor.is_none();
        if !is_alone {
            let rule = "names the one active record: nothing but a scope goes with it";
            return Err(Error::invalid("key", rule));
        }
        let (scope, key) = (Some(scope.clone()), self.key.clone());
        Ok(Get { memory_id: None, scope, key, namespace: None, include_deleted: false })
    }
}

/// A query string cannot tell an empty list from an absent one.
pub fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    Some(list).filter(|list| !list.is_empty())
}

/// Reads a value of a query string, and names it when it cannot be read.
pub fn parse<T: FromStr<Err: std::fmt::Display>>(field: &'static str, text: &str) -> Result<T> {
    text.parse().map_err(|error: T::Err| Error::invalid(field, error.to_string()))
}

fn check_words(query: &str) -> Result<String> {
    let query = super::search::check_query(query)?;
    Ok(normal_form(&query))
}

fn cursor_scope(permit: &Permit, list: &List) -> Result<CursorScope> {
    let question = List { limit: None, cursor: None, ..list.clone() };
    CursorScope::new(permit.tenant(), "items", &(permit.namespace(), question))
}
