-- A tenant's working-memory settings; a tenant without a row has the defaults (XA-C8). Slots are in Redis.
CREATE TABLE working_memory_configs (
  tenant_id uuid CONSTRAINT working_memory_configs_pkey PRIMARY KEY
    CONSTRAINT working_memory_configs_tenant REFERENCES tenants,
  config jsonb NOT NULL,
  updated_at timestamptz NOT NULL
);

ALTER TABLE working_memory_configs ENABLE ROW LEVEL SECURITY;
ALTER TABLE working_memory_configs FORCE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON working_memory_configs TO memtide_app
  USING (tenant_id = (SELECT nullif(current_setting('memtide.tenant', true), '')::uuid))
  WITH CHECK (tenant_id = (SELECT nullif(current_setting('memtide.tenant', true), '')::uuid));
CREATE POLICY operator ON working_memory_configs TO memtide_operator USING (true) WITH CHECK (true);

GRANT SELECT, INSERT, UPDATE ON working_memory_configs TO memtide_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON working_memory_configs TO memtide_operator;
