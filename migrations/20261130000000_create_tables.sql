-- Tables of tenants, tokens and durable memory.
--
-- Rules that hold for every table with a tenant_id (tests/it/catalog.rs checks them):
-- * tenant_id comes first in the primary key and in every unique and foreign key;
-- * row level security is enabled and forced, with one policy for the service (its own tenant) and one for
--   cross-tenant work in an operator transaction;
-- * the service gets the grants listed at the end, and no others.

-- Installed by `memtide migrate` as superuser; here so that the need is seen.
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE tenants (
  tenant_id uuid CONSTRAINT tenants_pkey PRIMARY KEY,
  slug text NOT NULL,
  name text NOT NULL,
  status text NOT NULL CONSTRAINT tenants_status CHECK (status IN ('active', 'suspended', 'deleted')),
  -- Raised by revoke_all: capabilities that carry a smaller number are refused.
  epoch bigint NOT NULL DEFAULT 0,
  limits jsonb NOT NULL DEFAULT '{}',
  settings jsonb NOT NULL DEFAULT '{}',
  -- The model whose vectors answer searches (R-15).
  model smallint NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
-- Slugs are seen by operators only, so that a taken one tells no tenant anything.
CREATE UNIQUE INDEX tenants_slug ON tenants (slug) WHERE status <> 'deleted';

-- Embedding models, shared by all tenants. No tenant data.
CREATE TABLE models (
  model smallint GENERATED ALWAYS AS IDENTITY CONSTRAINT models_pkey PRIMARY KEY,
  name text NOT NULL CONSTRAINT models_name UNIQUE,
  dimensions integer NOT NULL CONSTRAINT models_dimensions CHECK (dimensions BETWEEN 1 AND 4000)
);
ALTER TABLE tenants ADD CONSTRAINT tenants_model FOREIGN KEY (model) REFERENCES models;

-- A namespace is a separate memory space of a tenant. `ns` is its short form, used in keys.
CREATE TABLE namespaces (
  tenant_id uuid NOT NULL CONSTRAINT namespaces_tenant REFERENCES tenants,
  ns integer NOT NULL,
  name text NOT NULL,
  -- exact: vectors are compared one by one. building: a job marks them for the HNSW index. indexed: it is used.
  vectors text NOT NULL DEFAULT 'exact' CONSTRAINT namespaces_vectors CHECK (vectors IN ('exact', 'building', 'indexed')),
  -- The transaction that set `building`; whatever began before it may have written unmarked vectors.
  building_since xid8,
  created_at timestamptz NOT NULL,
  CONSTRAINT namespaces_pkey PRIMARY KEY (tenant_id, ns),
  CONSTRAINT namespaces_name UNIQUE (tenant_id, name)
);

-- How many active records a namespace holds and how many terms they have together. Striped by backend, so that
-- writers of one namespace do not wait for each other's commit; readers add the stripes up.
CREATE TABLE namespace_counts (
  tenant_id uuid NOT NULL,
  ns integer NOT NULL,
  stripe smallint NOT NULL,
  records bigint NOT NULL,
  terms bigint NOT NULL,
  CONSTRAINT namespace_counts_pkey PRIMARY KEY (tenant_id, ns, stripe),
  CONSTRAINT namespace_counts_namespace FOREIGN KEY (tenant_id, ns) REFERENCES namespaces ON DELETE CASCADE
) WITH (fillfactor = 50);

CREATE TABLE memories (
  tenant_id uuid NOT NULL,
  ns integer NOT NULL,
  memory_id uuid NOT NULL,
  -- What makes the record the same one when it is sent again: a hash of its key, its position or its text.
  identity bytea NOT NULL,
  scope_kind text NOT NULL,
  scope_key text NOT NULL,
  category text NOT NULL,
  key text,
  content text NOT NULL,
  status text NOT NULL CONSTRAINT memories_status CHECK (status IN ('active', 'superseded', 'deleted', 'expired')),
  sensitivity text NOT NULL,
  confidence double precision NOT NULL,
  importance double precision NOT NULL,
  provenance jsonb NOT NULL,
  source_context_kind text,
  thread_id text,
  seq bigint,
  speaker text,
  observed_at timestamptz NOT NULL,
  metadata jsonb,
  version bigint NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  expires_at timestamptz,
  last_accessed_at timestamptz,
  access_count bigint NOT NULL DEFAULT 0,
  superseded_by uuid,
  deleted_at timestamptz,
  delete_reason text,
  -- By which rule its words were made into `memory_terms`: what another rule made must be searched for to be removed.
  terms_version smallint NOT NULL,
  CONSTRAINT memories_pkey PRIMARY KEY (tenant_id, ns, memory_id),
  CONSTRAINT memories_namespace FOREIGN KEY (tenant_id, ns) REFERENCES namespaces ON DELETE CASCADE
);
CREATE UNIQUE INDEX memories_identity ON memories (tenant_id, ns, identity) WHERE status = 'active';
CREATE INDEX memories_scope ON memories (tenant_id, ns, scope_kind, scope_key, memory_id);
CREATE INDEX memories_thread ON memories (tenant_id, ns, thread_id, coalesce(seq, 0), observed_at, memory_id)
  WHERE thread_id IS NOT NULL AND status = 'active';
CREATE INDEX memories_expiry ON memories (tenant_id, ns, expires_at) WHERE expires_at IS NOT NULL AND status = 'active';
CREATE INDEX memories_tombstones ON memories (deleted_at) WHERE status = 'deleted';

-- The words of active records: how often a term stands in a record, and how long the record is (BM25).
CREATE TABLE memory_terms (
  tenant_id uuid NOT NULL,
  ns integer NOT NULL,
  term text NOT NULL,
  memory_id uuid NOT NULL,
  occurrences smallint NOT NULL,
  record_terms integer NOT NULL,
  CONSTRAINT memory_terms_pkey PRIMARY KEY (tenant_id, ns, term, memory_id)
);

-- The vectors of active records, one a model. Only rows of large namespaces are in the HNSW index (`indexed`).
CREATE TABLE memory_vectors (
  tenant_id uuid NOT NULL,
  ns integer NOT NULL,
  model smallint NOT NULL CONSTRAINT memory_vectors_model REFERENCES models,
  memory_id uuid NOT NULL,
  indexed boolean NOT NULL,
  embedding halfvec NOT NULL,
  CONSTRAINT memory_vectors_pkey PRIMARY KEY (tenant_id, ns, model, memory_id)
);

-- Every version of a record, the current one included.
CREATE TABLE memory_versions (
  tenant_id uuid NOT NULL,
  ns integer NOT NULL,
  memory_id uuid NOT NULL,
  version bigint NOT NULL,
  change_kind text NOT NULL,
  changed_at timestamptz NOT NULL,
  actor jsonb NOT NULL,
  record jsonb NOT NULL,
  CONSTRAINT memory_versions_pkey PRIMARY KEY (tenant_id, ns, memory_id, version),
  CONSTRAINT memory_versions_memory FOREIGN KEY (tenant_id, ns, memory_id) REFERENCES memories ON DELETE CASCADE
);

-- The outbox: what changed, written with the change. Delivery reads below pg_snapshot_xmin, never by id.
CREATE TABLE events (
  tenant_id uuid NOT NULL,
  ns integer NOT NULL,
  event_id uuid NOT NULL,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  method text NOT NULL,
  change_kind text,
  memory_id uuid,
  version bigint,
  at timestamptz NOT NULL,
  CONSTRAINT events_pkey PRIMARY KEY (tenant_id, ns, event_id)
);

-- Answers kept for repeated requests (R-11). A row without `status` is a request under way.
CREATE TABLE idempotency_keys (
  tenant_id uuid NOT NULL,
  namespace text NOT NULL,
  principal text NOT NULL,
  route text NOT NULL,
  key text NOT NULL,
  body_hash bytea NOT NULL,
  claim uuid NOT NULL,
  status smallint,
  body text,
  claimed_at timestamptz NOT NULL,
  CONSTRAINT idempotency_keys_pkey PRIMARY KEY (tenant_id, namespace, principal, route, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (claimed_at);

-- Who did what to which thing. Never any memory text.
CREATE TABLE audit_log (
  tenant_id uuid NOT NULL,
  audit_id uuid NOT NULL,
  at timestamptz NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  target text NOT NULL,
  CONSTRAINT audit_log_pkey PRIMARY KEY (tenant_id, audit_id)
);

CREATE TABLE api_keys (
  tenant_id uuid NOT NULL CONSTRAINT api_keys_tenant REFERENCES tenants,
  key_id uuid NOT NULL,
  -- The part of the key that is not secret; how a bearer is looked up before its tenant is known.
  lookup text NOT NULL,
  name text NOT NULL,
  secret_hash text NOT NULL,
  namespaces text[] NOT NULL,
  capabilities jsonb NOT NULL,
  sensitivity text[] NOT NULL,
  control boolean NOT NULL,
  actor jsonb NOT NULL,
  epoch bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz,
  CONSTRAINT api_keys_pkey PRIMARY KEY (tenant_id, key_id)
);
CREATE INDEX api_keys_lookup ON api_keys (lookup);

CREATE TABLE personal_tokens (
  tenant_id uuid NOT NULL CONSTRAINT personal_tokens_tenant REFERENCES tenants,
  key_id uuid NOT NULL,
  lookup text NOT NULL,
  name text NOT NULL,
  secret_sha256 bytea NOT NULL,
  namespace text NOT NULL,
  capabilities jsonb NOT NULL,
  scopes jsonb,
  sensitivity text[] NOT NULL,
  actor jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz,
  CONSTRAINT personal_tokens_pkey PRIMARY KEY (tenant_id, key_id)
);
CREATE INDEX personal_tokens_lookup ON personal_tokens (lookup);

-- Revoked capabilities, kept until they would have ended anyway.
CREATE TABLE revocations (
  tenant_id uuid NOT NULL CONSTRAINT revocations_tenant REFERENCES tenants,
  jti uuid NOT NULL,
  revoked_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  CONSTRAINT revocations_pkey PRIMARY KEY (tenant_id, jti)
);

-- Operator keys and signing keys belong to the deployment, not to a tenant.
CREATE TABLE operator_keys (
  key_id uuid CONSTRAINT operator_keys_pkey PRIMARY KEY,
  lookup text NOT NULL CONSTRAINT operator_keys_lookup UNIQUE,
  name text NOT NULL,
  secret_hash text NOT NULL,
  created_at timestamptz NOT NULL,
  revoked_at timestamptz
);

CREATE TABLE signing_keys (
  kid text CONSTRAINT signing_keys_pkey PRIMARY KEY,
  public_key bytea NOT NULL,
  -- Encrypted with the deployment secret.
  private_key bytea NOT NULL,
  created_at timestamptz NOT NULL,
  -- When it stopped signing; it verifies until the last token it signed has ended.
  retired_at timestamptz
);

-- The second wall. Each statement also names its tenant; these policies refuse the rest, and everything when
-- no tenant is set (the setting is absent, or '' after a transaction that had set it).
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY[
    'tenants', 'namespaces', 'namespace_counts', 'memories', 'memory_terms', 'memory_vectors', 'memory_versions',
    'events', 'idempotency_keys', 'audit_log', 'api_keys', 'personal_tokens', 'revocations'
  ] LOOP
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

GRANT SELECT ON tenants, models TO memtide_app;
GRANT SELECT, INSERT, UPDATE ON namespaces, namespace_counts TO memtide_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON memories TO memtide_app;
GRANT SELECT, INSERT, DELETE ON memory_terms TO memtide_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON memory_vectors, idempotency_keys TO memtide_app;
GRANT SELECT, INSERT ON memory_versions, audit_log, revocations TO memtide_app;
GRANT INSERT ON events TO memtide_app;

GRANT SELECT, INSERT, UPDATE, DELETE ON
  tenants, namespaces, namespace_counts, memories, memory_terms, memory_vectors, memory_versions, events,
  idempotency_keys, api_keys, personal_tokens, revocations, operator_keys, signing_keys TO memtide_operator;
GRANT SELECT, INSERT, DELETE ON audit_log TO memtide_operator;
GRANT SELECT, INSERT ON models TO memtide_operator;

-- The model that a fresh deployment uses. Indexes of other models are made when the model is first used.
INSERT INTO models (name, dimensions) VALUES ('all-MiniLM-L6-v2', 384);
CREATE INDEX memory_vectors_hnsw_1 ON memory_vectors
  USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (m = 16, ef_construction = 64)
  WHERE model = 1 AND indexed;
