-- What a reviewer lists, and what has been decided long ago, among all candidates there are.

CREATE INDEX candidates_open ON candidates (tenant_id, ns, candidate_id)
  WHERE status IN ('pending', 'pending_silent', 'ask_on_use', 'needs_review');
-- Without those that suppression needs.
CREATE INDEX candidates_decided ON candidates (decided_at)
  WHERE status IN ('approved', 'auto_rejected', 'review_disabled_rejected', 'merged_duplicate', 'expired', 'superseded')
    AND (detail -> 'suppress_similar') IS NULL;
