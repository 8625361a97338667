-- Candidates for durable records, what is not to be suggested again, and numbers for events.
--
-- The previous release goes on writing events without the new columns; they get their scope from the record.

-- What was proposed as a record, and what became of it.
CREATE TABLE candidates (
  tenant_id uuid NOT NULL,
  ns integer NOT NULL,
  candidate_id uuid NOT NULL,
  -- A hash of scope, category, canonical key and value in normal form: the same proposal has the same.
  fingerprint bytea NOT NULL,
  scope_kind text NOT NULL,
  scope_key text NOT NULL,
  category text NOT NULL,
  -- The canonical key, made by the service.
  key text NOT NULL,
  candidate_text text NOT NULL,
  status text NOT NULL CONSTRAINT candidates_status CHECK (status IN (
    'pending', 'pending_silent', 'ask_on_use', 'needs_review', 'approved', 'rejected', 'auto_rejected',
    'review_disabled_rejected', 'merged_duplicate', 'expired', 'superseded'
  )),
  sensitivity text NOT NULL,
  confidence double precision NOT NULL,
  -- Why it is in the state the policy gave it.
  reason text NOT NULL,
  -- How often it was proposed again after it had been suppressed.
  repeats bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  -- When it is too late to decide.
  expires_at timestamptz NOT NULL,
  decided_at timestamptz,
  decision_reason text,
  decided_by jsonb,
  -- The record it became or was merged into.
  memory_id uuid,
  -- Everything else: meaning, value, evidence, score, provenance, the client's own data.
  detail jsonb NOT NULL,
  CONSTRAINT candidates_pkey PRIMARY KEY (tenant_id, ns, candidate_id),
  CONSTRAINT candidates_namespace FOREIGN KEY (tenant_id, ns) REFERENCES namespaces ON DELETE CASCADE
);
CREATE INDEX candidates_fingerprint ON candidates (tenant_id, ns, fingerprint);
CREATE INDEX candidates_memory ON candidates (tenant_id, ns, memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX candidates_expiry ON candidates (expires_at)
  WHERE status IN ('pending', 'pending_silent', 'ask_on_use', 'needs_review');

-- Suggestions that are not to come again, and those like them (XC-31).
CREATE TABLE suppressions (
  tenant_id uuid NOT NULL,
  ns integer NOT NULL,
  suppression_id uuid NOT NULL,
  fingerprint bytea NOT NULL,
  scope_kind text NOT NULL,
  scope_key text NOT NULL,
  category text NOT NULL,
  content text NOT NULL,
  candidate_id uuid NOT NULL,
  created_at timestamptz NOT NULL,
  -- Absent when there was no model, or it has no usable vector for the text; then only the same is suppressed.
  model smallint CONSTRAINT suppressions_model REFERENCES models,
  embedding halfvec,
  CONSTRAINT suppressions_pkey PRIMARY KEY (tenant_id, ns, suppression_id),
  CONSTRAINT suppressions_fingerprint UNIQUE (tenant_id, ns, fingerprint),
  CONSTRAINT suppressions_namespace FOREIGN KEY (tenant_id, ns) REFERENCES namespaces ON DELETE CASCADE
);
CREATE INDEX suppressions_scope ON suppressions (tenant_id, ns, scope_kind, scope_key, category);

-- What a machine may not bring back is looked up among the tombstones of its scope (R-06).
CREATE INDEX memories_forgotten ON memories (tenant_id, ns, scope_kind, scope_key, category) WHERE status = 'deleted';

-- The number of an event within its namespace: given by the dispatcher, without gaps, once the event is committed.
ALTER TABLE events
  ADD COLUMN seq bigint,
  ADD COLUMN scope_kind text,
  ADD COLUMN scope_key text,
  ADD COLUMN sensitivity text,
  ADD COLUMN candidate_id uuid,
  -- The candidate as it was proposed.
  ADD COLUMN candidate jsonb,
  ADD COLUMN memory_ids uuid[];
CREATE INDEX events_new ON events (xid, event_id) WHERE seq IS NULL;
CREATE UNIQUE INDEX events_seq ON events (tenant_id, ns, seq) WHERE seq IS NOT NULL;
CREATE INDEX events_age ON events (at) WHERE seq IS NOT NULL;

-- How far a namespace has been numbered, and up to where events are not kept any more.
CREATE TABLE event_heads (
  tenant_id uuid NOT NULL,
  ns integer NOT NULL,
  seq bigint NOT NULL,
  purged bigint NOT NULL DEFAULT 0,
  CONSTRAINT event_heads_pkey PRIMARY KEY (tenant_id, ns),
  CONSTRAINT event_heads_namespace FOREIGN KEY (tenant_id, ns) REFERENCES namespaces ON DELETE CASCADE
) WITH (fillfactor = 50);

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['candidates', 'suppressions', 'event_heads'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format(
      'CREATE POLICY own_tenant ON %I TO memtide_app
         USING (tenant_id = (SELECT nullif(current_setting(''memtide.tenant'', true), '''')::uuid))
         WITH CHECK (tenant_id = (SELECT nullif(current_setting(''memtide.tenant'', true), '''')::uuid))',
      name);
    EXECUTE format('CREATE POLICY operator ON %I TO memtide_operator USING (true) WITH CHECK (true)', name);
  END LOOP;
END
$$;

GRANT SELECT ON events, event_heads TO memtide_app;
-- What a candidate said is taken out of its event when the candidate is erased.
GRANT UPDATE (candidate) ON events TO memtide_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON candidates TO memtide_app;
GRANT SELECT, INSERT, DELETE ON suppressions TO memtide_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON candidates, suppressions, event_heads TO memtide_operator;
