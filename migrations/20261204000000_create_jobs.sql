-- Work that is done after its request was answered. The text it is about stands in its source.

CREATE TABLE jobs (
  tenant_id uuid NOT NULL,
  ns integer NOT NULL,
  job_id uuid NOT NULL,
  kind text NOT NULL CONSTRAINT jobs_kind CHECK (kind IN ('capture', 'backfill')),
  status text NOT NULL CONSTRAINT jobs_status CHECK (status IN ('queued', 'running', 'done', 'failed')),
  source_id uuid,
  -- Whose memory it writes, and how far the token reached that asked for it.
  scope_kind text,
  scope_key text,
  reach jsonb,
  -- Which sorts of secrets were masked in the text before it was stored.
  masked text[] NOT NULL DEFAULT '{}',
  -- How often it was tried.
  attempts integer NOT NULL DEFAULT 0,
  -- Rises whenever a node takes it: who holds an older number has lost it.
  fence integer NOT NULL DEFAULT 0,
  -- queued: not to be taken before. running: until then it is held.
  due_at timestamptz NOT NULL,
  -- The records in which its facts are.
  memory_ids uuid[] NOT NULL DEFAULT '{}',
  error text,
  extracted_by text,
  note text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  CONSTRAINT jobs_pkey PRIMARY KEY (tenant_id, ns, job_id),
  CONSTRAINT jobs_namespace FOREIGN KEY (tenant_id, ns) REFERENCES namespaces ON DELETE CASCADE,
  CONSTRAINT jobs_source FOREIGN KEY (tenant_id, ns, source_id) REFERENCES sources ON DELETE CASCADE
);
-- What is to be done, tenant by tenant, so that each gets its turn.
CREATE INDEX jobs_open ON jobs (tenant_id, due_at, job_id) WHERE status IN ('queued', 'running');
CREATE INDEX jobs_by_source ON jobs (tenant_id, ns, source_id) WHERE source_id IS NOT NULL;
-- One at a time for a namespace.
CREATE UNIQUE INDEX jobs_backfill ON jobs (tenant_id, ns) WHERE kind = 'backfill' AND status IN ('queued', 'running');
-- For operators, who look across tenants, and for what is kept long enough.
CREATE INDEX jobs_age ON jobs (job_id);
CREATE INDEX jobs_ended ON jobs (status, updated_at);

ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE jobs FORCE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON jobs TO memtide_app
  USING (tenant_id = (SELECT nullif(current_setting('memtide.tenant', true), '')::uuid))
  WITH CHECK (tenant_id = (SELECT nullif(current_setting('memtide.tenant', true), '')::uuid));
CREATE POLICY operator ON jobs TO memtide_operator USING (true) WITH CHECK (true);

GRANT SELECT, INSERT ON jobs TO memtide_app;
GRANT UPDATE (status, memory_ids, error, extracted_by, note, updated_at) ON jobs TO memtide_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON jobs TO memtide_operator;
