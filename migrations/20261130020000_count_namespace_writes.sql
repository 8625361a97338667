-- How often a namespace was written to, so that what is kept of it in memory is known to be the latest. Only ever grows.
ALTER TABLE namespace_counts ADD COLUMN writes bigint NOT NULL DEFAULT 0;
