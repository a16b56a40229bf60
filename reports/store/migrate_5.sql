-- From schema version 4 to 5: the caches are other ones, and views read them. All of it follows from the other rows: it goes, and
-- store_migrate.c makes what version 5 has. The last step, of every older version.
DROP VIEW finding_now;
DROP VIEW v_findings;
DROP VIEW v_by_signature;
DROP VIEW v_fixed;
DROP VIEW finding_cause;
DROP VIEW v_causes;
DROP VIEW v_events;
DROP VIEW v_runs;
DROP VIEW v_observations;
DROP VIEW v_counters;
DROP VIEW v_by_version;
DROP TABLE finding_summary;
