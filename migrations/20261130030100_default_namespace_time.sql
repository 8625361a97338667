-- The one time that the service left to the database outside of a default.
ALTER TABLE namespaces ALTER COLUMN created_at SET DEFAULT now();
