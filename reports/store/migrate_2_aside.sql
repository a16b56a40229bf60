-- From schema version 1 to 2, first part: what changes is put aside as old_*. Then store_migrate.c makes what version 2 has and this
-- store lacks, with the very words of schema.sql; then migrate_2_fill.sql.
DROP INDEX observation_finding;
ALTER TABLE observation RENAME TO old_observation;
ALTER TABLE observation_count RENAME TO old_count;
ALTER TABLE counter RENAME TO old_counter;
ALTER TABLE environment RENAME TO old_environment;
CREATE INDEX old_observation_at ON old_observation (finding, at);
