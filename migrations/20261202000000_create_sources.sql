-- Texts that records were made from, and in which conversation of a client that was (R-12, D-056).

CREATE TABLE sources (
  tenant_id uuid NOT NULL,
  ns integer NOT NULL,
  source_id uuid NOT NULL,
  -- note: saved by a user, to the letter. capture: the output of a task, its secrets masked.
  kind text NOT NULL CONSTRAINT sources_kind CHECK (kind IN ('note', 'capture')),
  -- Absent once a record made from it was erased or purged: the text would still say it.
  content text,
  description text,
  conversation_id text,
  conversation_title text,
  created_at timestamptz NOT NULL,
  CONSTRAINT sources_pkey PRIMARY KEY (tenant_id, ns, source_id),
  CONSTRAINT sources_namespace FOREIGN KEY (tenant_id, ns) REFERENCES namespaces ON DELETE CASCADE
);
CREATE INDEX sources_conversation ON sources (tenant_id, ns, conversation_id) WHERE conversation_id IS NOT NULL;

-- Which records were made from which text; the same fact may stand in several.
CREATE TABLE source_memories (
  tenant_id uuid NOT NULL,
  ns integer NOT NULL,
  memory_id uuid NOT NULL,
  source_id uuid NOT NULL,
  CONSTRAINT source_memories_pkey PRIMARY KEY (tenant_id, ns, memory_id, source_id),
  CONSTRAINT source_memories_memory FOREIGN KEY (tenant_id, ns, memory_id) REFERENCES memories ON DELETE CASCADE,
  CONSTRAINT source_memories_source FOREIGN KEY (tenant_id, ns, source_id) REFERENCES sources ON DELETE CASCADE
);
CREATE INDEX source_memories_by_source ON source_memories (tenant_id, ns, source_id);

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['sources', 'source_memories'] LOOP
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

GRANT SELECT, INSERT ON sources, source_memories TO memtide_app;
GRANT UPDATE (content, description, conversation_title) ON sources TO memtide_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON sources, source_memories TO memtide_operator;
