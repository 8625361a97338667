//! Faults to plant, each with a word of what the linter must say.

pub const FAULTS: &[(&str, &str)] = &[
    ("ALTER TABLE memories DISABLE ROW LEVEL SECURITY", "memories: row level security"),
    ("ALTER TABLE events NO FORCE ROW LEVEL SECURITY", "events: row level security"),
    ("DROP POLICY own_tenant ON memories", "memories: there is no policy"),
    ("CREATE POLICY all_rows ON memories TO memtide_app USING (true)", "policy all_rows opens"),
    ("CREATE POLICY anybody ON memories USING (tenant_id IS NOT NULL)", "policy anybody opens"),
    ("ALTER POLICY own_tenant ON memories USING (true)", "memories: policy own_tenant opens"),
    ("ALTER POLICY own_tenant ON memories WITH CHECK (true)", "memories: policy own_tenant opens"),
    (
        // Without nullif, an empty setting is a fault instead of no row.
        "ALTER POLICY own_tenant ON memories USING (tenant_id = current_setting('memtide.tenant')::uuid)",
        "memories: policy own_tenant opens",
    ),
    ("CREATE TABLE notes (tenant_id uuid, note text)", "notes: row level security"),
    (
        "CREATE TABLE notes (tenant_id uuid, n integer) PARTITION BY HASH (tenant_id);
         ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
         ALTER TABLE notes FORCE ROW LEVEL SECURITY;
         CREATE TABLE notes_0 PARTITION OF notes FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
        "notes_0: row level security",
    ),
    ("CREATE TABLE notes (note text)", "notes: has no tenant_id"),
    ("CREATE SCHEMA other; CREATE TABLE other.notes (tenant_id uuid)", "notes: row level security"),
    ("CREATE VIEW shown AS SELECT * FROM memories", "shown: shows rows"),
    ("CREATE VIEW shown WITH (security_invoker = off) AS SELECT * FROM memories", "shown: shows rows"),
    ("CREATE MATERIALIZED VIEW kept AS SELECT * FROM memories", "kept: shows rows"),
    (
        "CREATE FUNCTION peek() RETURNS bigint LANGUAGE sql SECURITY DEFINER
         AS 'SELECT count(*) FROM memories'",
        "peek(): runs with",
    ),
    ("CREATE UNIQUE INDEX one_text ON memories (identity)", "one_text: is unique across"),
    ("CREATE UNIQUE INDEX one_key ON api_keys (lookup, tenant_id)", "one_key: is unique across"),
    ("ALTER TABLE events ADD CONSTRAINT one_event UNIQUE (event_id)", "one_event: is unique across"),
    (
        "ALTER TABLE namespaces ADD CONSTRAINT ns UNIQUE (ns, tenant_id);
         ALTER TABLE memories ADD CONSTRAINT backwards FOREIGN KEY (ns, tenant_id)
           REFERENCES namespaces (ns, tenant_id)",
        "memories.backwards: points across",
    ),
    (
        "CREATE TABLE notes (id integer PRIMARY KEY, tenant uuid CONSTRAINT whose REFERENCES tenants)",
        "notes.whose: points across",
    ),
    ("GRANT DELETE ON events TO memtide_app", "grants: memtide_app events DELETE,INSERT"),
    ("GRANT TRUNCATE ON memories TO memtide_app", "grants: memtide_app memories"),
    ("GRANT SELECT ON signing_keys TO memtide_app", "grants: memtide_app signing_keys SELECT"),
    ("GRANT SELECT ON memories TO memtide_app WITH GRANT OPTION", "grants: memtide_app memories"),
    ("GRANT SELECT (content) ON memories TO PUBLIC", "grants: PUBLIC memories.content SELECT"),
    ("GRANT USAGE ON SEQUENCE models_model_seq TO PUBLIC", "grants: PUBLIC models_model_seq USAGE"),
    ("GRANT UPDATE ON audit_log TO memtide_operator", "grants: memtide_operator audit_log"),
    ("REVOKE SELECT ON memories FROM memtide_app", "not granted: memtide_app memories"),
    ("GRANT CREATE ON SCHEMA public TO memtide_app", "memtide_app: may make things in public"),
    ("GRANT CREATE ON SCHEMA public TO PUBLIC", "memtide_operator: may make things in public"),
    (
        "DO $$ BEGIN EXECUTE format('GRANT TEMP ON DATABASE %I TO PUBLIC', current_database()); END $$",
        "memtide_app: may TEMPORARY",
    ),
    ("ALTER ROLE memtide_app BYPASSRLS", "memtide_app: can do what only"),
    ("ALTER ROLE memtide_app SUPERUSER", "memtide_app: can do what only"),
    ("ALTER ROLE memtide_operator LOGIN", "memtide_operator: can do what only"),
    ("GRANT pg_read_all_data TO memtide_app", "memtide_app: is a member of pg_read_all_data"),
    ("GRANT memtide_owner TO memtide_app", "memtide_app: is a member of memtide_owner"),
    (
        "GRANT memtide_operator TO memtide_app WITH INHERIT TRUE",
        "memtide_app: is a member of memtide_operator",
    ),
    ("ALTER TABLE memories OWNER TO memtide_app", "memtide_app: owns table memories"),
    ("CREATE SCHEMA own AUTHORIZATION memtide_app", "memtide_app: owns schema own"),
    (
        "ALTER DEFAULT PRIVILEGES FOR ROLE memtide_owner GRANT SELECT ON TABLES TO memtide_app",
        "default privileges of memtide_owner",
    ),
];
