-- Cognitive sessions: what an agent was after, and what it thought, decided and said on the way.
--
-- The previous release passes over events of a method it does not know.

CREATE TABLE cognitive_sessions (
  tenant_id uuid NOT NULL,
  ns integer NOT NULL,
  session_id uuid NOT NULL,
  agent_id text NOT NULL,
  goal text NOT NULL,
  status text NOT NULL DEFAULT 'active' CONSTRAINT cognitive_sessions_status CHECK (status IN ('active', 'closed')),
  outcome text CONSTRAINT cognitive_sessions_outcome CHECK (outcome IN ('completed', 'abandoned', 'failed')),
  summary text,
  -- Together they are the number of the latest entry. Whoever adds one raises one of them, and so waits here.
  thought_count bigint NOT NULL DEFAULT 0,
  decision_count bigint NOT NULL DEFAULT 0,
  interaction_count bigint NOT NULL DEFAULT 0,
  metadata jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  closed_at timestamptz,
  CONSTRAINT cognitive_sessions_pkey PRIMARY KEY (tenant_id, ns, session_id),
  CONSTRAINT cognitive_sessions_namespace FOREIGN KEY (tenant_id, ns) REFERENCES namespaces ON DELETE CASCADE,
  CONSTRAINT cognitive_sessions_closed CHECK ((status = 'closed') = (outcome IS NOT NULL AND closed_at IS NOT NULL))
) WITH (fillfactor = 70);
CREATE INDEX cognitive_sessions_agent ON cognitive_sessions (tenant_id, ns, agent_id, session_id);
CREATE INDEX cognitive_sessions_active ON cognitive_sessions (tenant_id, ns, session_id) WHERE status = 'active';

-- Entries are added and never changed.
CREATE TABLE session_entries (
  tenant_id uuid NOT NULL,
  ns integer NOT NULL,
  session_id uuid NOT NULL,
  seq bigint NOT NULL,
  entry_id uuid NOT NULL,
  kind text NOT NULL CONSTRAINT session_entries_kind CHECK (kind IN ('thought', 'decision', 'interaction')),
  content text NOT NULL,
  -- Everything else that is particular to the kind.
  detail jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  CONSTRAINT session_entries_pkey PRIMARY KEY (tenant_id, ns, session_id, seq),
  CONSTRAINT session_entries_session FOREIGN KEY (tenant_id, ns, session_id) REFERENCES cognitive_sessions
    ON DELETE CASCADE
);
CREATE INDEX session_entries_by_kind ON session_entries (tenant_id, ns, session_id, kind, seq);

-- The session an event is of; `version` is the entry's number, 0 for the start, one more than the last for the end.
ALTER TABLE events ADD COLUMN session_id uuid;

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['cognitive_sessions', 'session_entries'] LOOP
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

GRANT SELECT, INSERT, UPDATE ON cognitive_sessions TO memtide_app;
GRANT SELECT, INSERT ON session_entries TO memtide_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON cognitive_sessions, session_entries TO memtide_operator;
