//! The books of a database, compared with what was acknowledged.

use std::collections::HashMap;

use serde_json::Value;
use sqlx::PgConnection;

/// One record of a request that was answered well.
#[derive(Debug, Clone)]
pub struct Acknowledged {
    id: String,
    content: String,
    /// Whether it has a key, under which the same writer comes again.
    is_keyed: bool,
    created: bool,
}

impl Acknowledged {
    /// The records of a request and of its answer.
    pub fn of(request: &Value, answer: &Value) -> Vec<Self> {
        let one = |sent: &Value, got: &Value| Self {
            id: got["record"]["id"].as_str().unwrap().to_owned(),
            content: sent["content"].as_str().unwrap().to_owned(),
            is_keyed: sent["key"].is_string(),
            created: got["created"].as_bool().unwrap(),
        };
        match request["items"].as_array() {
            Some(items) => {
                items.iter().zip(answer["results"].as_array().unwrap()).map(|(s, g)| one(s, g)).collect()
            }
            None => vec![one(request, answer)],
        }
    }
}

/// Each acknowledged record is there once with its text, and has as many versions, events and audit rows as requests.
pub async fn check_records(connection: &mut PgConnection, journal: &[Acknowledged]) {
    let rows: Vec<(String, String, i64, i64, i64, i64)> = sqlx::query_as(
        "SELECT m.memory_id::text, m.content, m.version,
           (SELECT count(*) FROM memory_versions v WHERE v.memory_id = m.memory_id),
           (SELECT count(*) FROM events e WHERE e.memory_id = m.memory_id),
           (SELECT count(*) FROM audit_log a WHERE a.target = m.memory_id::text AND a.action LIKE 'memory.%')
         FROM memories m
         WHERE m.status = 'active'",
    )
    .fetch_all(&mut *connection)
    .await
    .unwrap();
    let mut there: HashMap<String, _> = HashMap::new();
    for (id, content, version, versions, events, audits) in rows {
        assert_eq!((versions, events, audits), (version, version, version), "{content}");
        there.insert(memory_id(&id), (content, version));
    }
    let mut effects: HashMap<&str, i64> = HashMap::new();
    for written in journal {
        *effects.entry(&written.id).or_default() += 1;
        let Some((content, _)) = there.get(&written.id) else { panic!("lost: {written:?}") };
        // A retry gets the first answer, which says that the record was made.
        assert!(written.is_keyed || (written.created && *content == written.content), "{written:?}");
    }
    for (id, (content, version)) in &there {
        assert_eq!(effects.get(id.as_str()), Some(version), "effects of the requests for {content:?}");
    }
}

/// The counters of each namespace equal what it holds.
pub async fn check_counters(connection: &mut PgConnection) {
    let wrong: Vec<(i64, i64, i64, i64)> = sqlx::query_as(
        "SELECT c.records, c.terms, r.records, r.terms
         FROM (
           SELECT tenant_id, ns, sum(records)::int8 AS records, sum(terms)::int8 AS terms
           FROM namespace_counts GROUP BY tenant_id, ns
         ) c
         JOIN (
           SELECT m.tenant_id, m.ns, count(*) AS records, sum(t.terms)::int8 AS terms
           FROM memories m
           JOIN (
             SELECT tenant_id, ns, memory_id, max(record_terms) AS terms
             FROM memory_terms GROUP BY tenant_id, ns, memory_id
           ) t USING (tenant_id, ns, memory_id)
           WHERE m.status = 'active'
           GROUP BY m.tenant_id, m.ns
         ) r USING (tenant_id, ns)
         WHERE (c.records, c.terms) IS DISTINCT FROM (r.records, r.terms)",
    )
    .fetch_all(connection)
    .await
    .unwrap();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// A stored id in the form it has on the wire.
fn memory_id(uuid: &str) -> String {
    memtide::id::MemoryId::from_uuid(uuid.parse().unwrap()).to_string()
}
