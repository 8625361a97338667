-- A closed session with an entry of each kind, an active one, and an event of each sort.
INSERT INTO cognitive_sessions (
  tenant_id, ns, session_id, agent_id, goal, status, outcome, summary, thought_count, decision_count,
  interaction_count, metadata, created_at, updated_at, closed_at
)
VALUES
  ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-0000000000a1', 'revenue-assistant',
   'Investigate.', 'closed', 'completed', 'It was the resellers.', 1, 1, 1, '{"a": 1}', '2026-12-03Z', '2026-12-04Z',
   '2026-12-04Z'),
  ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-0000000000a2', 'revenue-assistant',
   'Go on.', 'active', NULL, NULL, 0, 0, 0, '{}', '2026-12-04Z', '2026-12-04Z', NULL);
INSERT INTO session_entries (tenant_id, ns, session_id, seq, entry_id, kind, content, detail, created_at)
VALUES
  ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-0000000000a1', 1,
   '01900000-0000-7000-8000-0000000000b1', 'thought', 'Resellers fell.',
   '{"type": "thought", "kind": "observation", "confidence": null, "metadata": {}}', '2026-12-03Z'),
  ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-0000000000a1', 2,
   '01900000-0000-7000-8000-0000000000b2', 'decision', 'Ask the resellers.',
   '{"type": "decision", "rationale": null, "alternatives": [], "confidence": 0.9, "based_on": [], "metadata": {}}',
   '2026-12-03Z'),
  ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-0000000000a1', 3,
   '01900000-0000-7000-8000-0000000000b3', 'interaction', 'What happened?',
   '{"type": "interaction", "role": "agent", "counterparty": "resellers", "metadata": {}}', '2026-12-03Z');
INSERT INTO events (tenant_id, ns, event_id, method, session_id, version, at)
VALUES
  ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-0000000000c1', 'cognitive/session_started',
   '01900000-0000-7000-8000-0000000000a1', 0, '2026-12-03Z'),
  ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-0000000000c2', 'cognitive/entry_added',
   '01900000-0000-7000-8000-0000000000a1', 1, '2026-12-03Z'),
  ('01900000-0000-7000-8000-000000000001', 1, '01900000-0000-7000-8000-0000000000c3', 'cognitive/session_closed',
   '01900000-0000-7000-8000-0000000000a1', 4, '2026-12-04Z');
