-- A tenant with a key, a token and two records: one active, one forgotten.
INSERT INTO tenants (tenant_id, slug, name, status, epoch, limits, settings, model, created_at, updated_at)
VALUES ('01900000-0000-7000-8000-000000000001', 'alice', 'Alice', 'active', 1, '{}', '{}', 1, '2026-01-01Z', '2026-01-02Z');
INSERT INTO namespaces (tenant_id, ns, name, vectors, created_at)
VALUES ('01900000-0000-7000-8000-000000000001', 1, 'default', 'exact', '2026-01-01Z');
INSERT INTO namespace_counts (tenant_id, ns, stripe, records, terms)
VALUES ('01900000-0000-7000-8000-000000000001', 1, 3, 1, 2);
INSERT INTO memories (
  tenant_id, ns, memory_id, identity, scope_kind, scope_key, category, key, content, status, sensitivity, confidence,
  importance, provenance, observed_at, version, created_at, updated_at, expires_at, deleted_at, delete_reason,
  terms_version
)
VALUES
  ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-00000000000a', '\x01', 'user', 'alice', 'fact',
   'drink', 'Alice drinks tea.', 'active', 'normal', 1, 0.5, '{}', '2026-01-01Z', 1, '2026-01-01Z', '2026-01-01Z',
   '2099-01-01Z', NULL, NULL, 1),
  ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-00000000000b', '\x02', 'user', 'alice', 'fact',
   NULL, 'Alice drank coffee.', 'deleted', 'normal', 1, 0.5, '{}', '2026-01-01Z', 2, '2026-01-01Z', '2026-01-02Z',
   NULL, '2026-01-02Z', 'it was wrong', 1);
INSERT INTO memory_terms (tenant_id, ns, term, memory_id, occurrences, record_terms)
VALUES ('01900000-0000-7000-8000-000000000001', 1, 'tea', '01900000-0000-7000-8000-00000000000a', 1, 2);
INSERT INTO memory_vectors (tenant_id, ns, model, memory_id, indexed, embedding)
SELECT '01900000-0000-7000-8000-000000000001', 1, 1, '01900000-0000-7000-8000-00000000000a', true,
  array_fill(0.05::real, ARRAY[384])::halfvec;
INSERT INTO memory_versions (tenant_id, ns, memory_id, version, change_kind, changed_at, actor, record)
VALUES ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-00000000000a', 1, 'created', '2026-01-01Z',
  '{"kind": "system"}', '{"content": "Alice drinks tea."}');
INSERT INTO events (tenant_id, ns, event_id, method, change_kind, memory_id, version, at)
VALUES ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-000000000011', 'memory/changed', 'created',
  '01900000-0000-7000-8000-00000000000a', 1, '2026-01-01Z');
-- One answer that is kept, and one request under way.
INSERT INTO idempotency_keys (
  tenant_id, namespace, principal, route, key, body_hash, claim, status, body, claimed_at
)
VALUES
  ('01900000-0000-7000-8000-000000000001', 'default', 'key_0', '/v1/memory/items', 'a', '\x01',
   '01900000-0000-7000-8000-000000000021', 201, '{"record": {"id": "mem_01j00000000e00g0000000000a"}}', '2026-01-01Z'),
  ('01900000-0000-7000-8000-000000000001', 'default', 'key_0', '/v1/memory/items', 'b', '\x02',
   '01900000-0000-7000-8000-000000000022', NULL, NULL, '2026-01-01Z');
INSERT INTO audit_log (tenant_id, audit_id, at, actor, action, target)
VALUES ('01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000031', '2026-01-01Z', 'key_0',
  'memory.created', '01900000-0000-7000-8000-00000000000a');
INSERT INTO api_keys (
  tenant_id, key_id, lookup, name, secret_hash, namespaces, capabilities, sensitivity, control, actor, created_at
)
VALUES ('01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000041', 'l', 'main', 'h', '{*}', '{}',
  '{normal}', true, '{}', '2026-01-01Z');
INSERT INTO personal_tokens (
  tenant_id, key_id, lookup, name, secret_sha256, namespace, capabilities, sensitivity, actor, created_at
)
VALUES ('01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000042', 'l', 'mine', '\x01', 'default',
  '{}', '{normal}', '{}', '2026-01-01Z');
INSERT INTO revocations (tenant_id, jti, revoked_at, expires_at)
VALUES ('01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000051', '2026-01-01Z', '2026-01-02Z');
INSERT INTO operator_keys (key_id, lookup, name, secret_hash, created_at)
VALUES ('01900000-0000-7000-8000-000000000061', 'l', 'night shift', 'h', '2026-01-01Z');
INSERT INTO signing_keys (kid, public_key, private_key, created_at) VALUES ('k', '\x01', '\x02', '2026-01-01Z');
