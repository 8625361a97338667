-- A text that was captured, its job, and one that failed.
INSERT INTO sources (tenant_id, ns, source_id, kind, content, created_at)
VALUES ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-000000000071', 'capture', 'I drink tea.',
  '2026-01-01Z');
INSERT INTO source_memories (tenant_id, ns, memory_id, source_id)
VALUES ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-00000000000a',
  '01900000-0000-7000-8000-000000000071');
INSERT INTO jobs (
  tenant_id, ns, job_id, kind, status, source_id, scope_kind, scope_key, reach, attempts, fence, due_at, memory_ids,
  error, extracted_by, created_at, updated_at
)
VALUES
  ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-000000000081', 'capture', 'done',
   '01900000-0000-7000-8000-000000000071', 'user', 'alice',
   '{"key": "key_01j00000000e00g00000000011", "scopes": null, "sensitivity": ["normal"]}', 1, 1, '2026-01-01Z',
   '{01900000-0000-7000-8000-00000000000a}', NULL, 'rules', '2026-01-01Z', '2026-01-01Z'),
  ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-000000000082', 'backfill', 'failed', NULL, NULL,
   NULL, NULL, 6, 6, '2026-01-01Z', '{}', 'the embedder is unavailable', NULL, '2026-01-01Z', '2026-01-01Z');
