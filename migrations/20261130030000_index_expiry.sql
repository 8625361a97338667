-- Records whose time is over are looked for across tenants, which the index by tenant could not answer; nothing else
-- used that one.
CREATE INDEX memories_expires_at ON memories (expires_at) WHERE expires_at IS NOT NULL AND status = 'active';
DROP INDEX memories_expiry;
