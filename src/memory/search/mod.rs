//! Search: by words and by meaning, in one namespace, as far as the token sees.
//!
//! The database gives the best candidates of each arm with both scores; turns next to the strongest ones come along;
//! [`super::rank`] orders them; only the records of one page are then loaded.

pub mod graph;
mod graph_store;
mod request;
mod resident;
mod snippet;
mod store;
mod vectors;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

pub use request::{
    Explanation, Hit, MAX_QUERY_BYTES, Ranking, ScoreComponents, Search, SearchMode, SearchReply, check_query,
};
pub use resident::Resident;

use self::store::{Found, Link, Question, Space};
use super::draft::{check_vector, require_namespace};
use super::filter::Filter;
use super::rank::{self, Boosts, CANDIDATES_PER_ARM, rank};
use super::strength::{Candidate, Exact, Mode, Turn, strongest};
use super::terms::query_terms;
use super::text::normal_form;
use super::turn::{ends_in_question, names_speaker};
use super::{Record, Status, read};
use crate::app::App;
use crate::auth::{Action, Area, Caller, Permit};
use crate::db::TenantTx;
use crate::embed::Embedding;
use crate::error::{Error, Result};
use crate::id::MemoryId;
use crate::page::CursorScope;

/// How close two hits are to be called similar (XC-31).
const SIMILAR_COSINE: f64 = 0.92;

/// A place in a ranking that has been made: what is still to be shown, best first.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Ranked(MemoryId, f64, ScoreComponents, Option<usize>, Option<usize>);

/// Finds the active records in reach that answer a question best (C-010).
///
/// Without an embedder the words alone answer, and the reply says so; asking for meaning alone is then `Unavailable`.
pub async fn search(app: &App, caller: &Caller, search: &Search) -> Result<SearchReply> {
    search_in(app, caller, search, None).await
}

/// The same among the records that were saved in one conversation of a client (D-012).
pub async fn search_in(
    app: &App,
    caller: &Caller,
    search: &Search,
    conversation: Option<&str>,
) -> Result<SearchReply> {
    let permit = caller.permit(Action::Read, Area::Durable)?;
    require_namespace(&permit, search.namespace.as_ref())?;
    let query = check_query(&search.query)?;
    let ranking = search.ranking.clone().unwrap_or_default();
    let boosts = ranking.boosts()?;
    let filter = filter(&permit, search, &boosts)?.within(conversation);
    let (now, limit) = (app.clock.now(), search.limit.unwrap_or_default().get());
    let cursors = cursor_scope(&permit, search, conversation)?;
    let later = search.cursor.as_deref().map(|cursor| cursors.place(&app.seal, now, cursor)).transpose()?;
    let (vector, mut degraded) = vector(app, &permit, search, &query).await?;
    if filter.is_empty() {
        return Ok(SearchReply { hits: Vec::new(), next_cursor: None, degraded });
    }
    let mut tx = app.db.begin(&permit).await?;
    let Some(space) = store::space(&mut tx).await? else {
        return Ok(SearchReply { hits: Vec::new(), next_cursor: None, degraded });
    };
    let vector = of_model(app, space, search.mode, vector, &mut degraded)?;
    let terms = if search.mode == SearchMode::Semantic { Vec::new() } else { query_terms(&query) };
    let is_narrow = space.is_large() && later.is_none() && store::is_narrow(&mut tx, &filter).await?;
    let short_bytes = i32::try_from(2 * query.len() + 64).unwrap_or(i32::MAX);
    let held = match &vector {
        Some(_) => app.resident.find(&mut tx, space).await?,
        None => None,
    };
    let cosines = held.as_deref().zip(vector.as_ref()).map(|(held, vector)| held.cosines(vector));
    let question = Question {
        terms: &terms,
        vector: vector.as_ref(),
        cosines: cosines.as_ref(),
        filter: &filter,
        space,
        is_narrow,
        now,
        // A page is filled if there are enough records, also when both arms find the same ones.
        per_arm: i64::try_from(CANDIDATES_PER_ARM.max(limit)).unwrap_or(i64::MAX),
        short_bytes,
    };
    let (mut ranked, degraded): (Vec<Ranked>, Vec<String>) = match later {
        Some(later) => later,
        None => (order(&mut tx, &question, search, &query, &boosts).await?, degraded),
    };
    let rest = ranked.split_off(limit.min(ranked.len()));
    let next_cursor =
        if rest.is_empty() { None } else { Some(cursors.cursor(&app.seal, now, &(rest, &degraded))?) };
    let records = visible(&mut tx, &permit, &filter, &ranked, now).await?;
    let similar = similar(&mut tx, search, space, &records).await?;
    app.accesses.found(&tx, records.keys().copied(), now);
    let page = Page { search, query: &query, terms: &terms };
    let hits = ranked
        .iter()
        .filter_map(|place| Some(page.hit(place, records.get(&place.0)?, similar.as_ref())))
        .collect();
    Ok(SearchReply { hits, next_cursor, degraded })
}

fn filter(permit: &Permit, search: &Search, boosts: &Boosts) -> Result<Filter> {
    if search
        .statuses
        .as_ref()
        .is_some_and(|statuses| statuses.iter().any(|status| *status != Status::Active))
    {
        return Err(Error::invalid("statuses", "only active records can be searched"));
    }
    let statuses = search.statuses.clone().unwrap_or_else(|| vec![Status::Active]);
    // A boosted category is a wish, not a condition.
    let categories = search.categories.as_deref().filter(|_| boosts.category_match == 0.0);
    Filter::new(permit, search.scopes.as_deref(), categories, &statuses, search.sensitivity_policy)
}

fn cursor_scope(permit: &Permit, search: &Search, conversation: Option<&str>) -> Result<CursorScope> {
    let question = Search { limit: None, cursor: None, ..search.clone() };
    let place = (permit.namespace(), permit.scopes(), conversation);
    CursorScope::new(permit.tenant(), "search", &(place, question))
}

/// The question's vector: the client's, or the embedder's; nothing where words alone are asked or must do.
async fn vector(
    app: &App,
    permit: &Permit,
    search: &Search,
    query: &str,
) -> Result<(Option<Embedding>, Vec<String>)> {
    let given = given_vector(app, search)?;
    if search.mode == SearchMode::Lexical || search.cursor.is_some() {
        return Ok((None, Vec::new()));
    }
    if given.is_some() {
        return Ok((given, Vec::new()));
    }
    match app.embedder.embed_query(permit.tenant(), query).await {
        Ok(embedding) => Ok((Some(embedding), Vec::new())),
        Err(Error::Unavailable { .. }) if search.mode == SearchMode::Hybrid => {
            Ok((None, vec!["semantic".to_owned()]))
        }
        Err(error) => Err(error),
    }
}

fn given_vector(app: &App, search: &Search) -> Result<Option<Embedding>> {
    let Some(values) = &search.query_embedding else { return Ok(None) };
    let model = app.embedder.model();
    let model = model.ok_or_else(|| Error::invalid("query_embedding", "there is no active model"))?;
    check_vector("query_embedding", values, model.dimensions).map(Some)
}

/// Vectors of one model are never compared with those of another.
fn of_model(
    app: &App,
    space: Space,
    mode: SearchMode,
    vector: Option<Embedding>,
    degraded: &mut Vec<String>,
) -> Result<Option<Embedding>> {
    if vector.is_none() || space.model == app.db.model() {
        return Ok(vector);
    }
    if mode == SearchMode::Semantic {
        return Err(Error::unavailable("the embedding model of this tenant"));
    }
    degraded.push("semantic".to_owned());
    Ok(None)
}

/// The whole ranking of a question.
async fn order(
    tx: &mut TenantTx,
    question: &Question<'_>,
    search: &Search,
    query: &str,
    boosts: &Boosts,
) -> Result<Vec<Ranked>> {
    let mut found = store::candidates(tx, question).await?;
    let mode = Mode::from(search.mode);
    let ideal = found.first().map_or(0.0, |found| found.ideal);
    let asked = Asked { search, query, normal: normal_form(query), question };
    let mut candidates: Vec<Candidate> = found.iter().map(|found| asked.candidate(found)).collect();
    if found.iter().any(|found| found.thread_id.is_some()) {
        let ids: Vec<MemoryId> = found.iter().map(|found| found.id).collect();
        let best: Vec<MemoryId> = strongest(&candidates, mode, ideal).into_iter().map(|at| ids[at]).collect();
        let (links, more) = store::neighbours(tx, question, &ids, &best).await?;
        candidates.extend(more.iter().map(|found| asked.candidate(found)));
        found.extend(more);
        seat(&mut candidates, &found, &links);
    }
    let place = |hit: rank::Hit| {
        let parts = hit.components;
        let components = ScoreComponents {
            semantic: rounded(parts.semantic),
            lexical: rounded(parts.lexical),
            recency: rounded(parts.recency),
            importance: rounded(parts.importance),
            key: parts.key,
        };
        Ranked(found[hit.index].id, rounded(hit.score), components, hit.lexical_rank, hit.semantic_rank)
    };
    let per_arm = usize::try_from(question.per_arm).unwrap_or(usize::MAX);
    Ok(rank(&candidates, mode, ideal, boosts, per_arm).into_iter().map(place).collect())
}

/// Six digits: more say nothing, and would make cursors long.
fn rounded(score: f64) -> f64 {
    (score * 1e6).round() / 1e6
}

/// A question, for looking at candidates.
struct Asked<'a> {
    search: &'a Search,
    query: &'a str,
    normal: String,
    question: &'a Question<'a>,
}

impl Asked<'_> {
    fn candidate(&self, found: &Found) -> Candidate {
        let primary = self.search.ranking.as_ref().and_then(|ranking| ranking.primary_scope.as_ref());
        let categories = self.search.categories.as_deref().unwrap_or_default();
        Candidate {
            lexical: found.lexical,
            cosine: found.cosine,
            turn: None,
            speaker_named: found.speaker.as_deref().is_some_and(|speaker| names_speaker(self.query, speaker)),
            exact: self.exact(found),
            #[expect(clippy::cast_precision_loss, reason = "a second more or less in a billion years")]
            age_seconds: (self.question.now - found.updated_at).num_seconds() as f64,
            importance: found.importance,
            confidence: found.confidence,
            category_match: categories.contains(&found.category),
            primary_scope: primary == Some(&found.scope),
        }
    }

    fn exact(&self, found: &Found) -> Exact {
        let is_query = |text: &String| normal_form(text) == self.normal;
        if found.key.as_ref().is_some_and(is_query) {
            return Exact::Key;
        }
        if found.short_content.as_ref().is_some_and(is_query) { Exact::Text } else { Exact::No }
    }
}

/// Gives the turns among the candidates their places, next to each other where they are.
fn seat(candidates: &mut [Candidate], found: &[Found], links: &[Link]) {
    let place: HashMap<MemoryId, usize> =
        found.iter().enumerate().map(|(at, found)| (found.id, at)).collect();
    let mut threads: HashMap<&str, usize> = HashMap::new();
    for (candidate, found) in candidates.iter_mut().zip(found) {
        let Some(thread) = found.thread_id.as_deref() else { continue };
        let number = threads.len();
        let thread = *threads.entry(thread).or_insert(number);
        let asks = found.ending.as_deref().is_some_and(ends_in_question);
        candidate.turn = Some(Turn { thread, previous: None, next: None, asks });
    }
    let mut join = |before: Option<usize>, after: Option<usize>| {
        let (Some(before), Some(after)) = (before, after) else { return };
        if let Some(turn) = &mut candidates[before].turn {
            turn.next = Some(after);
        }
        if let Some(turn) = &mut candidates[after].turn {
            turn.previous = Some(before);
        }
    };
    for link in links {
        let at = |id: MemoryId| place.get(&id).copied();
        join(link.previous.and_then(at), at(link.of));
        join(at(link.of), link.next.and_then(at));
    }
}

/// The records of a page that exist for the token now; a cursor may be older than a change.
async fn visible(
    tx: &mut TenantTx,
    permit: &Permit,
    filter: &Filter,
    ranked: &[Ranked],
    now: chrono::DateTime<chrono::Utc>,
) -> Result<HashMap<MemoryId, Record>> {
    let ids: Vec<MemoryId> = ranked.iter().map(|place| place.0).collect();
    let records = super::store::find_many(tx, &ids).await?.into_iter().map(|record| read::shown(record, now));
    let is_visible =
        |record: &Record| permit.sees(&record.scope, record.sensitivity) && filter.passes(record);
    Ok(records.filter(is_visible).map(|record| (record.id, record)).collect())
}

async fn similar(
    tx: &mut TenantTx,
    search: &Search,
    space: Space,
    visible: &HashMap<MemoryId, Record>,
) -> Result<Option<HashMap<MemoryId, Vec<MemoryId>>>> {
    if !search.include_similar {
        return Ok(None);
    }
    let ids: Vec<MemoryId> = visible.keys().copied().collect();
    let mut similar: HashMap<MemoryId, Vec<MemoryId>> = HashMap::new();
    for (one, other) in store::similar(tx, space.model, &ids, SIMILAR_COSINE).await? {
        similar.entry(one).or_default().push(other);
    }
    Ok(Some(similar))
}

/// A page in the making.
struct Page<'a> {
    search: &'a Search,
    query: &'a str,
    terms: &'a [String],
}

impl Page<'_> {
    fn hit(
        &self,
        place: &Ranked,
        record: &Record,
        similar: Option<&HashMap<MemoryId, Vec<MemoryId>>>,
    ) -> Hit {
        let Ranked(id, score, score_components, lexical_rank, semantic_rank) = place.clone();
        let matched_terms = if self.terms.is_empty() { Vec::new() } else { self.matched_in(record) };
        let mut record = record.clone();
        record.provenance.take_if(|_| !self.search.include_provenance);
        let explain = self.search.explain.then(|| explain(lexical_rank, semantic_rank));
        let similar = similar.map(|similar| similar.get(&id).cloned().unwrap_or_default());
        let snippet = snippet::snippet(&record.content, self.query);
        Hit { record, score, score_components, snippet, matched_terms, explain, similar }
    }

    fn matched_in(&self, record: &Record) -> Vec<String> {
        let held = super::draft::search_terms(record).counts;
        self.terms.iter().filter(|term| held.contains_key(*term)).cloned().collect()
    }
}

fn explain(lexical_rank: Option<usize>, semantic_rank: Option<usize>) -> Explanation {
    let reason = match (lexical_rank, semantic_rank) {
        (Some(words), Some(meaning)) => format!("number {words} by words, number {meaning} by meaning"),
        (Some(words), None) => format!("number {words} by words"),
        (None, Some(meaning)) => format!("number {meaning} by meaning"),
        (None, None) => "next to a turn that was found".to_owned(),
    };
    Explanation { lexical_rank, semantic_rank, reason }
}
