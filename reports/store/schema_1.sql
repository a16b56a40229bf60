-- Schema of the findings store, version 1. store.h has the rules; in short:
--   * a shared row never changes, its id is the hash of its table's name and all its other columns;
--   * everything that changes about a finding is a row of event;
--   * counter and observation_count hold numbers that only grow and merge by maximum;
--   * finding_summary is a cache of the view finding_now, rebuilt whenever in doubt.
-- Times are unix milliseconds, UTC. The views v_* are for people.

-- Words. Rows are added by migrations only.
CREATE TABLE finding_kind (name TEXT NOT NULL PRIMARY KEY, meaning TEXT NOT NULL) STRICT;
INSERT INTO finding_kind VALUES
  ('value', 'an element of an output is outside what the target may return'),
  ('gradient', 'an element of a gradient is'),
  ('mutation', 'an input holds something else after the call'),
  ('alias', 'an output shares memory with another tensor and must not, or must and does not'),
  ('meta', 'dtype, sizes, strides or device are wrong'),
  ('none-ness', 'a gradient is None and must not be, or must be and is not'),
  ('raise', 'the target raises and must not, or must and does not'),
  ('crash', 'the target process died'),
  ('hang', 'the target did not answer in time'),
  ('nondeterministic', 'the target disagrees with itself');
CREATE TABLE finding_state (name TEXT NOT NULL PRIMARY KEY, rank INTEGER NOT NULL, open INTEGER NOT NULL,
  decided INTEGER NOT NULL) STRICT;
INSERT INTO finding_state VALUES ('candidate', 0, 1, 0), ('confirmed', 1, 1, 0), ('minimised', 2, 1, 0), ('blamed', 3, 1, 0),
  ('known', 4, 0, 1), ('fixed-in', 5, 0, 1), ('regressed', 6, 1, 1), ('dismissed', 7, 0, 1);
-- state: what the event makes of the finding; decides: overrides everything before it (kind state: the payload is the state).
CREATE TABLE event_kind (name TEXT NOT NULL PRIMARY KEY, state TEXT REFERENCES finding_state, decides INTEGER NOT NULL) STRICT;
INSERT INTO event_kind VALUES ('found', 'candidate', 0), ('severity', NULL, 0), ('signature', NULL, 0),
  ('confirmed', 'confirmed', 0), ('minimized', 'minimised', 0), ('blame', 'blamed', 0), ('known', 'known', 1),
  ('fixed', 'fixed-in', 1), ('regressed', 'regressed', 1), ('state', NULL, 1), ('note', NULL, 0);

-- Shared rows.
CREATE TABLE run (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  seed INTEGER NOT NULL, shard TEXT NOT NULL, policy TEXT NOT NULL, versions TEXT NOT NULL, started INTEGER NOT NULL) STRICT;
CREATE TABLE draw (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16), text TEXT NOT NULL) STRICT;
CREATE TABLE environment (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  target TEXT NOT NULL, versions TEXT NOT NULL, device TEXT NOT NULL) STRICT;
CREATE TABLE program (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16), text TEXT NOT NULL) STRICT;
CREATE TABLE program_op (op TEXT NOT NULL, program BLOB NOT NULL REFERENCES program, PRIMARY KEY (op, program)) STRICT;
CREATE INDEX program_op_program ON program_op (program);
CREATE TABLE finding (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  program BLOB NOT NULL REFERENCES program, family TEXT NOT NULL, kind TEXT NOT NULL REFERENCES finding_kind) STRICT;
CREATE TABLE issue (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16), url TEXT NOT NULL, title TEXT NOT NULL) STRICT;
CREATE TABLE observation (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  finding BLOB NOT NULL REFERENCES finding, environment BLOB NOT NULL REFERENCES environment,
  run BLOB NOT NULL REFERENCES run, at INTEGER NOT NULL, verdict TEXT NOT NULL, tensor TEXT NOT NULL,
  fill INTEGER NOT NULL, call INTEGER NOT NULL, detail TEXT NOT NULL) STRICT;
CREATE INDEX observation_finding ON observation (finding, environment);
CREATE TABLE artifact (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  finding BLOB NOT NULL REFERENCES finding, name TEXT NOT NULL, at INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;
CREATE INDEX artifact_finding ON artifact (finding, name);
CREATE TABLE event (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  finding BLOB NOT NULL REFERENCES finding, at INTEGER NOT NULL, kind TEXT NOT NULL REFERENCES event_kind,
  tool TEXT NOT NULL, payload TEXT NOT NULL, program BLOB REFERENCES program, issue BLOB REFERENCES issue) STRICT;
CREATE INDEX event_finding ON event (finding, at);

-- Numbers that only grow, one writer (the run) each.
CREATE TABLE counter (run BLOB NOT NULL REFERENCES run, draw BLOB NOT NULL REFERENCES draw, target TEXT NOT NULL,
  verdict TEXT NOT NULL, n INTEGER NOT NULL CHECK (n >= 0), PRIMARY KEY (run, draw, target, verdict)) STRICT;
CREATE TABLE observation_count (finding BLOB NOT NULL REFERENCES finding, environment BLOB NOT NULL REFERENCES environment,
  run BLOB NOT NULL REFERENCES run, verdict TEXT NOT NULL, n INTEGER NOT NULL CHECK (n >= 0),
  first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (finding, environment, run, verdict)) STRICT;

-- Local cache: one row of finding_now per finding.
CREATE TABLE finding_summary (finding BLOB NOT NULL PRIMARY KEY REFERENCES finding, target TEXT NOT NULL, state TEXT NOT NULL,
  severity TEXT NOT NULL, signature TEXT NOT NULL, program BLOB NOT NULL, ops TEXT NOT NULL,
  first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL, nobs INTEGER NOT NULL, npass INTEGER NOT NULL) STRICT;
CREATE INDEX finding_summary_signature ON finding_summary (signature);

-- The latest deciding event, if any; then the furthest progress after it.
CREATE VIEW finding_decision AS
SELECT f.id AS finding, (SELECT e.id FROM event e JOIN event_kind k ON k.name = e.kind WHERE e.finding = f.id AND k.decides
  ORDER BY e.at DESC, e.id DESC LIMIT 1) AS event
FROM finding f;
CREATE VIEW finding_state_now AS
SELECT d.finding, CASE WHEN s.decided THEN s.name ELSE
  (SELECT name FROM finding_state WHERE rank = max(coalesce(s.rank, 0), coalesce((SELECT max(p.rank)
    FROM event e JOIN event_kind k ON k.name = e.kind JOIN finding_state p ON p.name = k.state
    WHERE e.finding = d.finding AND NOT k.decides AND (de.id IS NULL OR (e.at, e.id) > (de.at, de.id))), 0))) END AS state
FROM finding_decision d LEFT JOIN event de ON de.id = d.event LEFT JOIN event_kind dk ON dk.name = de.kind
  LEFT JOIN finding_state s ON s.name = coalesce(dk.state, de.payload);

CREATE VIEW finding_now AS
SELECT x.id AS finding, x.target, (SELECT state FROM finding_state_now WHERE finding = x.id) AS state, x.severity, x.signature,
  x.program, coalesce((SELECT group_concat(op, ' ') FROM (SELECT op FROM program_op o WHERE o.program = x.program ORDER BY op)),
    '') AS ops,
  x.first_seen, x.last_seen, x.nobs, x.npass
FROM (SELECT f.id,
    coalesce((SELECT n.target FROM observation_count c JOIN environment n ON n.id = c.environment
      WHERE c.finding = f.id AND c.verdict <> 'pass' ORDER BY c.first, c.environment LIMIT 1), f.family) AS target,
    coalesce((SELECT payload FROM event WHERE finding = f.id AND kind = 'severity' ORDER BY at DESC, id DESC LIMIT 1),
      'normal') AS severity,
    coalesce((SELECT payload FROM event WHERE finding = f.id AND kind = 'signature' ORDER BY at DESC, id DESC LIMIT 1),
      '') AS signature,
    coalesce((SELECT program FROM event WHERE finding = f.id AND kind = 'minimized' AND program IS NOT NULL
      ORDER BY at DESC, id DESC LIMIT 1), f.program) AS program,
    coalesce((SELECT min(t) FROM (SELECT min(at) AS t FROM event WHERE finding = f.id
      UNION ALL SELECT min(first) FROM observation_count WHERE finding = f.id AND verdict <> 'pass')), 0) AS first_seen,
    coalesce((SELECT max(t) FROM (SELECT max(at) AS t FROM event WHERE finding = f.id AND kind = 'found'
      UNION ALL SELECT max(last) FROM observation_count WHERE finding = f.id AND verdict <> 'pass')), 0) AS last_seen,
    coalesce((SELECT sum(n) FROM observation_count WHERE finding = f.id AND verdict <> 'pass'), 0) AS nobs,
    coalesce((SELECT sum(n) FROM observation_count WHERE finding = f.id AND verdict = 'pass'), 0) AS npass
  FROM finding f) x;

-- For people.
CREATE VIEW v_findings AS
SELECT lower(hex(substr(f.id, 1, 4))) AS id, f.kind, s.target, s.signature, s.state, s.severity,
  strftime('%Y-%m-%d %H:%M:%S', s.first_seen / 1000, 'unixepoch') AS first_seen,
  strftime('%Y-%m-%d %H:%M:%S', s.last_seen / 1000, 'unixepoch') AS last_seen,
  s.nobs, s.npass, s.ops, lower(hex(f.id)) AS full_id
FROM finding f JOIN finding_summary s ON s.finding = f.id;
CREATE VIEW v_open AS
SELECT v.* FROM v_findings v JOIN finding_state t ON t.name = v.state WHERE t.open ORDER BY v.last_seen DESC, v.id;
-- Nobody has looked at these yet.
CREATE VIEW v_new AS
SELECT * FROM v_findings WHERE state IN ('candidate', 'confirmed') ORDER BY first_seen DESC, id;
CREATE VIEW v_by_signature AS
SELECT signature, kind, count(*) AS nfindings, sum(nobs) AS nobs, min(first_seen) AS first_seen, max(last_seen) AS last_seen,
  group_concat(DISTINCT state) AS states, group_concat(DISTINCT target) AS targets, group_concat(id, ' ') AS ids
FROM v_findings GROUP BY signature, kind ORDER BY nobs DESC, signature;
CREATE VIEW v_fixed AS
SELECT lower(hex(substr(f.id, 1, 4))) AS id, f.kind, s.target, s.signature, s.state,
  (SELECT payload FROM event e JOIN finding_decision d ON d.event = e.id WHERE d.finding = f.id) AS version,
  strftime('%Y-%m-%d %H:%M:%S', s.first_seen / 1000, 'unixepoch') AS first_seen,
  strftime('%Y-%m-%d %H:%M:%S', s.last_seen / 1000, 'unixepoch') AS last_seen,
  s.nobs, s.npass, s.ops, lower(hex(f.id)) AS full_id
FROM finding f JOIN finding_summary s ON s.finding = f.id WHERE s.state IN ('fixed-in', 'regressed')
ORDER BY s.last_seen DESC, f.id;
CREATE VIEW v_events AS
SELECT lower(hex(substr(e.finding, 1, 4))) AS id, strftime('%Y-%m-%d %H:%M:%S', e.at / 1000, 'unixepoch') AS at, e.kind,
  e.payload, i.url AS issue, e.tool, lower(hex(e.finding)) AS full_id
FROM event e LEFT JOIN issue i ON i.id = e.issue ORDER BY e.at, e.id;
CREATE VIEW v_counters AS
SELECT lower(hex(substr(c.run, 1, 4))) AS run, r.seed, r.shard, strftime('%Y-%m-%d %H:%M:%S', r.started / 1000, 'unixepoch')
  AS started, c.target, c.verdict, sum(c.n) AS n
FROM counter c JOIN run r ON r.id = c.run GROUP BY c.run, c.target, c.verdict ORDER BY r.started, c.run, c.target, c.verdict;
