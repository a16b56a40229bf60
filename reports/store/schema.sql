-- Schema of the findings store, version 6. store.h has the rules, `scatterproof findings schema` says what each column means; in short:
--   * a shared row never changes, its id is the hash of its table's name and all its other columns;
--   * everything that changes about a finding is a row of event;
--   * counter and observation_count hold numbers that only grow and merge by maximum;
--   * finding_summary is a cache of the view finding_now, counter_total and tried are sums of counter; rebuilt whenever in doubt.
-- In tables times are unix milliseconds and ids blobs. The views v_* are for people: there times are 2026-01-31T23:59:59Z, ids are text.

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
  ('invariant', 'a compiler that checks itself broke an invariant; nothing was run'),
  ('nondeterministic', 'the target disagrees with itself');
CREATE TABLE finding_state (name TEXT NOT NULL PRIMARY KEY, rank INTEGER NOT NULL, open INTEGER NOT NULL,
  decided INTEGER NOT NULL) STRICT;
INSERT INTO finding_state VALUES ('candidate', 0, 1, 0), ('confirmed', 1, 1, 0), ('minimised', 2, 1, 0), ('blamed', 3, 1, 0),
  ('known', 4, 0, 1), ('fixed-in', 5, 0, 1), ('regressed', 6, 1, 1), ('dismissed', 7, 0, 1), ('duplicate', 8, 0, 1);
-- state: what the event makes of the finding; decides: overrides everything before it (kind state: the payload is the state).
CREATE TABLE event_kind (name TEXT NOT NULL PRIMARY KEY, state TEXT REFERENCES finding_state, decides INTEGER NOT NULL) STRICT;
INSERT INTO event_kind VALUES ('found', 'candidate', 0), ('severity', NULL, 0), ('signature', NULL, 0),
  ('confirmed', 'confirmed', 0), ('minimised', 'minimised', 0), ('blame', 'blamed', 0), ('known', 'known', 1),
  ('fixed', 'fixed-in', 1), ('regressed', 'regressed', 1), ('state', NULL, 1), ('note', NULL, 0), ('duplicate', 'duplicate', 1),
  ('unconfirmed', NULL, 0), ('excuse', NULL, 0), ('reach', NULL, 0), ('cure', NULL, 0), ('cause', NULL, 0);

-- Shared rows.
CREATE TABLE run (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  seed INTEGER NOT NULL, shard TEXT NOT NULL, policy TEXT NOT NULL, versions TEXT NOT NULL, started INTEGER NOT NULL) STRICT;
CREATE TABLE draw (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16), text TEXT NOT NULL) STRICT;
CREATE TABLE environment (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16), family TEXT NOT NULL, version TEXT NOT NULL,
  target TEXT NOT NULL, versions TEXT NOT NULL, device TEXT NOT NULL, machine TEXT NOT NULL) STRICT;
CREATE TABLE program (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16), text TEXT NOT NULL) STRICT;
CREATE TABLE program_op (op TEXT NOT NULL, program BLOB NOT NULL REFERENCES program, PRIMARY KEY (op, program)) STRICT;
CREATE INDEX program_op_program ON program_op (program);
-- What people type and what commands print of an id are looked up, not computed of every row.
CREATE INDEX program_short ON program (lower(hex(substr(id, 1, 4))));
CREATE INDEX program_hex ON program (lower(hex(id)));
CREATE TABLE finding (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  program BLOB NOT NULL REFERENCES program, family TEXT NOT NULL, kind TEXT NOT NULL REFERENCES finding_kind) STRICT;
CREATE INDEX finding_program ON finding (program);
CREATE INDEX finding_short ON finding (lower(hex(substr(id, 1, 4))));
CREATE INDEX finding_hex ON finding (lower(hex(id)));
CREATE TABLE issue (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16), url TEXT NOT NULL, title TEXT NOT NULL) STRICT;
CREATE TABLE observation (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  finding BLOB NOT NULL REFERENCES finding, program BLOB NOT NULL REFERENCES program,
  environment BLOB NOT NULL REFERENCES environment, run BLOB NOT NULL REFERENCES run, at INTEGER NOT NULL,
  verdict TEXT NOT NULL, tensor TEXT NOT NULL, fill INTEGER NOT NULL, call INTEGER NOT NULL, detail TEXT NOT NULL) STRICT;
CREATE INDEX observation_finding ON observation (finding, program, environment);
CREATE INDEX observation_program ON observation (program);
CREATE TABLE artifact (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  finding BLOB NOT NULL REFERENCES finding, name TEXT NOT NULL, at INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;
CREATE INDEX artifact_finding ON artifact (finding, name);
CREATE TABLE event (id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  finding BLOB NOT NULL REFERENCES finding, at INTEGER NOT NULL, kind TEXT NOT NULL REFERENCES event_kind,
  tool TEXT NOT NULL, payload TEXT NOT NULL, program BLOB REFERENCES program, issue BLOB REFERENCES issue) STRICT;
CREATE INDEX event_finding ON event (finding, at);
CREATE INDEX event_program ON event (program) WHERE program IS NOT NULL;
CREATE INDEX event_duplicate ON event (lower(hex(finding))) WHERE kind = 'duplicate';
CREATE INDEX event_issue ON event (finding) WHERE issue IS NOT NULL;
CREATE INDEX event_time ON event (strftime('%Y-%m-%dT%H:%M:%SZ', at / 1000, 'unixepoch')); -- as v_events says it

-- Numbers that only grow, one writer (the run) each.
CREATE TABLE counter (run BLOB NOT NULL REFERENCES run, draw BLOB NOT NULL REFERENCES draw,
  environment BLOB NOT NULL REFERENCES environment, verdict TEXT NOT NULL, n INTEGER NOT NULL CHECK (n >= 0),
  PRIMARY KEY (run, draw, environment, verdict)) STRICT;
CREATE TABLE observation_count (finding BLOB NOT NULL REFERENCES finding, environment BLOB NOT NULL REFERENCES environment,
  run BLOB NOT NULL REFERENCES run, verdict TEXT NOT NULL, n INTEGER NOT NULL CHECK (n >= 0),
  first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (finding, environment, run, verdict)) STRICT;

-- Local caches. One row of finding_now per finding.
CREATE TABLE finding_summary (finding BLOB NOT NULL PRIMARY KEY REFERENCES finding, target TEXT NOT NULL, version TEXT NOT NULL,
  state TEXT NOT NULL, severity TEXT NOT NULL, signature TEXT NOT NULL, program BLOB NOT NULL, length INTEGER NOT NULL, ops TEXT NOT NULL,
  first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL, nobs INTEGER NOT NULL, npass INTEGER NOT NULL,
  minimised INTEGER NOT NULL, cause TEXT NOT NULL, reach TEXT NOT NULL, blame TEXT NOT NULL, versions TEXT NOT NULL) STRICT;
CREATE INDEX finding_summary_signature ON finding_summary (signature);
-- Causes are counted and numbered from these two alone.
CREATE INDEX finding_summary_cause ON finding_summary (cause, state, severity, reach, nobs, first_seen, last_seen, minimised, length,
  finding);
CREATE INDEX finding_summary_first_seen ON finding_summary (first_seen, finding, cause, state, target);
-- Sums of counter: without the draw; and by each family (or, of a run that --ops restricts, operator) and dtype that the draw has.
CREATE TABLE counter_total (run BLOB NOT NULL REFERENCES run, environment BLOB NOT NULL REFERENCES environment, verdict TEXT NOT NULL,
  n INTEGER NOT NULL, PRIMARY KEY (run, environment, verdict)) STRICT, WITHOUT ROWID;
CREATE TABLE tried (policy TEXT NOT NULL, environment BLOB NOT NULL REFERENCES environment, ops TEXT NOT NULL, dtype TEXT NOT NULL,
  verdict TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (policy, environment, ops, dtype, verdict)) STRICT, WITHOUT ROWID;
-- The operators of each family, and each operator as a family of its own: those of the scatterproof that wrote last.
CREATE TABLE operator (ops TEXT NOT NULL, op TEXT NOT NULL, PRIMARY KEY (ops, op)) STRICT, WITHOUT ROWID;
-- Local, too: what a minimiser that was stopped has asked already (a hash of program and target), and whether that failed in the same way.
CREATE TABLE answer (finding BLOB NOT NULL REFERENCES finding, question BLOB NOT NULL CHECK (length(question) = 16),
  yes INTEGER NOT NULL, PRIMARY KEY (finding, question)) STRICT;

-- The latest deciding event, if any; then the furthest progress after it.
CREATE VIEW finding_last_decision AS
SELECT f.id AS finding, (SELECT e.id FROM event e JOIN event_kind k ON k.name = e.kind WHERE e.finding = f.id AND k.decides
  ORDER BY e.at DESC, e.id DESC LIMIT 1) AS event
FROM finding f;
-- Merged stores can hold findings that are duplicates of each other, in a circle. Of these the one with the least id counts as the
-- original: its marks as a duplicate are passed over. (A walk from it that meets nothing less than itself has come back to it.)
CREATE VIEW finding_decision AS
SELECT d.finding, CASE WHEN e.kind = 'duplicate' AND lower(hex(d.finding)) = (
    WITH RECURSIVE walk (id) AS (SELECT e.payload UNION
      SELECT n.payload FROM walk w JOIN event m ON m.kind = 'duplicate' AND lower(hex(m.finding)) = w.id
        JOIN finding_last_decision l ON l.finding = m.finding JOIN event n ON n.id = l.event AND n.kind = 'duplicate')
    SELECT min(id) FROM walk)
  THEN (SELECT x.id FROM event x JOIN event_kind k ON k.name = x.kind WHERE x.finding = d.finding AND k.decides
    AND x.kind <> 'duplicate' ORDER BY x.at DESC, x.id DESC LIMIT 1)
  ELSE d.event END AS event
FROM finding_last_decision d LEFT JOIN event e ON e.id = d.event;
CREATE VIEW finding_state_now AS
SELECT d.finding, CASE WHEN s.decided THEN s.name ELSE
  (SELECT name FROM finding_state WHERE rank = max(coalesce(s.rank, 0), coalesce((SELECT max(p.rank)
    FROM event e JOIN event_kind k ON k.name = e.kind JOIN finding_state p ON p.name = k.state
    WHERE e.finding = d.finding AND NOT k.decides AND (de.id IS NULL OR (e.at, e.id) > (de.at, de.id))), 0))) END AS state
FROM finding_decision d LEFT JOIN event de ON de.id = d.event LEFT JOIN event_kind dk ON dk.name = de.kind
  LEFT JOIN finding_state s ON s.name = coalesce(dk.state, de.payload);

CREATE VIEW finding_now AS
SELECT x.id AS finding, coalesce(n.target, x.family) AS target, coalesce(n.version, '') AS version,
  (SELECT state FROM finding_state_now WHERE finding = x.id) AS state, x.severity, x.signature, p.id AS program, length(p.text) AS length,
  coalesce((SELECT group_concat(op, ' ') FROM (SELECT op FROM program_op o WHERE o.program = p.id ORDER BY op)), '') AS ops,
  x.first_seen, x.last_seen, x.nobs, x.npass, EXISTS (SELECT 1 FROM event WHERE finding = x.id AND kind = 'minimised') AS minimised,
  coalesce(x.cause, x.kind || '; not triaged; ' || x.signature) AS cause, x.reach, x.blame,
  coalesce((SELECT group_concat(version, ' ') FROM (SELECT DISTINCT e.version FROM observation_count c JOIN environment e
    ON e.id = c.environment WHERE c.finding = x.id AND c.verdict <> 'pass' AND e.version <> '' AND instr(e.version, ' ') = 0
    ORDER BY e.version)), '') AS versions
FROM (SELECT f.id, f.family, f.kind, f.program,
    (SELECT c.environment FROM observation_count c WHERE c.finding = f.id AND c.verdict <> 'pass'
      ORDER BY c.first, c.environment LIMIT 1) AS environment,
    coalesce((SELECT payload FROM event WHERE finding = f.id AND kind = 'severity' ORDER BY at DESC, id DESC LIMIT 1),
      'normal') AS severity,
    coalesce((SELECT payload FROM event WHERE finding = f.id AND kind = 'signature' ORDER BY at DESC, id DESC LIMIT 1),
      '') AS signature,
    (SELECT program FROM event WHERE finding = f.id AND kind = 'minimised' AND program IS NOT NULL
      ORDER BY at DESC, id DESC LIMIT 1) AS minimised,
    coalesce((SELECT min(t) FROM (SELECT min(at) AS t FROM event WHERE finding = f.id
      UNION ALL SELECT min(first) FROM observation_count WHERE finding = f.id AND verdict <> 'pass')), 0) AS first_seen,
    coalesce((SELECT max(t) FROM (SELECT max(at) AS t FROM event WHERE finding = f.id AND kind = 'found'
      UNION ALL SELECT max(last) FROM observation_count WHERE finding = f.id AND verdict <> 'pass')), 0) AS last_seen,
    coalesce((SELECT sum(n) FROM observation_count WHERE finding = f.id AND verdict <> 'pass'), 0) AS nobs,
    coalesce((SELECT sum(n) FROM observation_count WHERE finding = f.id AND verdict = 'pass'), 0) AS npass,
    (SELECT payload FROM event WHERE finding = f.id AND kind = 'cause' ORDER BY at DESC, id DESC LIMIT 1) AS cause,
    coalesce((SELECT payload FROM event WHERE finding = f.id AND kind = 'reach' ORDER BY at DESC, id DESC LIMIT 1), '') AS reach,
    coalesce((SELECT payload FROM event WHERE finding = f.id AND kind = 'blame' ORDER BY at DESC, id DESC LIMIT 1), '') AS blame
  FROM finding f) x JOIN program p ON p.id = coalesce(x.minimised, x.program) LEFT JOIN environment n ON n.id = x.environment;

-- For people. What a view says an id or a full_id is, is the expression that finding or program has an index of.
CREATE VIEW v_findings AS
SELECT lower(hex(substr(f.id, 1, 4))) AS id, f.kind, s.target, s.version, s.signature, s.state, s.severity,
  strftime('%Y-%m-%dT%H:%M:%SZ', s.first_seen / 1000, 'unixepoch') AS first_seen,
  strftime('%Y-%m-%dT%H:%M:%SZ', s.last_seen / 1000, 'unixepoch') AS last_seen,
  s.nobs, s.npass, s.ops, s.minimised, s.cause, s.reach, lower(hex(f.id)) AS full_id
FROM finding f JOIN finding_summary s ON s.finding = f.id;
CREATE VIEW v_open AS
SELECT v.* FROM v_findings v JOIN finding_state t ON t.name = v.state WHERE t.open ORDER BY v.last_seen DESC, v.id;
-- Nobody has looked at these yet, or not since they came back.
CREATE VIEW v_new AS
SELECT * FROM v_findings WHERE state IN ('candidate', 'confirmed', 'regressed') ORDER BY first_seen DESC, id;
CREATE VIEW v_by_signature AS
SELECT s.signature, f.kind, min(s.severity) AS severity, count(*) AS nfindings, sum(s.nobs) AS nobs,
  strftime('%Y-%m-%dT%H:%M:%SZ', min(s.first_seen) / 1000, 'unixepoch') AS first_seen,
  strftime('%Y-%m-%dT%H:%M:%SZ', max(s.last_seen) / 1000, 'unixepoch') AS last_seen, group_concat(DISTINCT s.state) AS states,
  group_concat(DISTINCT s.target) AS targets, group_concat(lower(hex(substr(f.id, 1, 4))), ' ') AS ids
FROM finding_summary s JOIN finding f ON f.id = s.finding GROUP BY s.signature, f.kind ORDER BY nobs DESC, s.signature;
CREATE VIEW v_fixed AS
SELECT lower(hex(substr(f.id, 1, 4))) AS id, f.kind, s.target, s.signature, s.state,
  (SELECT e.payload FROM finding_decision d JOIN event e ON e.id = d.event WHERE d.finding = f.id) AS version,
  strftime('%Y-%m-%dT%H:%M:%SZ', s.first_seen / 1000, 'unixepoch') AS first_seen,
  strftime('%Y-%m-%dT%H:%M:%SZ', s.last_seen / 1000, 'unixepoch') AS last_seen,
  s.nobs, s.npass, s.ops, lower(hex(f.id)) AS full_id
FROM finding f JOIN finding_summary s ON s.finding = f.id WHERE s.state IN ('fixed-in', 'regressed')
ORDER BY s.last_seen DESC, f.id;
-- The cause that triage found; before that, a finding is a cause of its own with whatever has its signature.
CREATE VIEW finding_cause AS SELECT finding, cause, reach FROM finding_summary;
-- What `findings causes` shows of one. Its finding: the open one with the smallest minimised program.
CREATE VIEW cause_now AS
SELECT row_number() OVER (ORDER BY g.open DESC, g.severity, g.reach = 'aten', g.cause LIKE '%; not triaged; %', g.nobs DESC, g.cause) AS place,
  g.cause, s.finding, g.severity, g.reach, s.blame, g.nfindings, g.nobs, g.first_seen, g.last_seen, s.ops, g.open, s.program
FROM (SELECT c.cause, max(t.open) AS open, min(c.severity) AS severity, max(c.reach) AS reach, count(*) AS nfindings, sum(c.nobs) AS nobs,
    min(c.first_seen) AS first_seen, max(c.last_seen) AS last_seen
  FROM finding_summary c JOIN finding_state t ON t.name = c.state GROUP BY c.cause) g
JOIN finding_summary s ON s.finding = (SELECT b.finding FROM finding_summary b JOIN finding_state t ON t.name = b.state
  WHERE b.cause = g.cause ORDER BY t.open DESC, b.minimised DESC, b.length, b.first_seen, b.finding LIMIT 1);
CREATE VIEW v_causes AS
SELECT m.number, c.place, c.cause, lower(hex(substr(c.finding, 1, 4))) AS id, c.severity, c.reach, c.blame, c.nfindings, c.nobs,
  strftime('%Y-%m-%dT%H:%M:%SZ', c.first_seen / 1000, 'unixepoch') AS first_seen,
  strftime('%Y-%m-%dT%H:%M:%SZ', c.last_seen / 1000, 'unixepoch') AS last_seen, m.states, m.targets, c.ops, m.ids, c.open,
  lower(hex(c.program)) AS program, lower(hex(c.finding)) AS full_id, m.numbers
FROM cause_now c JOIN (SELECT cause, group_concat(state, ' ') AS states, group_concat(target, ' ') AS targets,
    group_concat(lower(hex(substr(finding, 1, 4))), ' ') AS ids, min(nth) AS number, group_concat(nth, ' ') AS numbers
  FROM (SELECT cause, state, target, finding, row_number() OVER (ORDER BY first_seen, finding) AS nth FROM finding_summary)
  GROUP BY cause) m ON m.cause = c.cause
ORDER BY c.place;
CREATE VIEW v_events AS
SELECT lower(hex(substr(f.id, 1, 4))) AS id, strftime('%Y-%m-%dT%H:%M:%SZ', e.at / 1000, 'unixepoch') AS at, e.kind,
  e.payload, i.url AS issue, e.tool, lower(hex(f.id)) AS full_id
FROM event e JOIN finding f ON f.id = e.finding LEFT JOIN issue i ON i.id = e.issue ORDER BY e.at, e.id;
CREATE VIEW v_runs AS
SELECT lower(hex(substr(r.id, 1, 4))) AS id, r.seed, r.shard, r.policy, r.versions,
  strftime('%Y-%m-%dT%H:%M:%SZ', r.started / 1000, 'unixepoch') AS started,
  coalesce((SELECT sum(n) FROM counter_total c WHERE c.run = r.id), 0) AS nverdicts, lower(hex(r.id)) AS full_id
FROM run r ORDER BY r.started, r.id;
CREATE VIEW v_environments AS
SELECT lower(hex(substr(id, 1, 4))) AS id, family, version, target, versions, device, machine, lower(hex(id)) AS full_id
FROM environment ORDER BY family, version, target, device, machine;
CREATE VIEW v_observations AS
SELECT lower(hex(substr(f.id, 1, 4))) AS id, lower(hex(o.program)) AS program, lower(hex(o.run)) AS run,
  strftime('%Y-%m-%dT%H:%M:%SZ', o.at / 1000, 'unixepoch') AS at, n.target, n.version, n.device, o.verdict, o.tensor, o.call,
  o.fill, o.detail, lower(hex(f.id)) AS full_id
FROM finding f JOIN observation o ON o.finding = f.id JOIN environment n ON n.id = o.environment ORDER BY f.id, o.at, o.id;
CREATE VIEW v_programs AS
SELECT lower(hex(substr(p.id, 1, 4))) AS id,
  coalesce((SELECT group_concat(op, ' ') FROM (SELECT op FROM program_op o WHERE o.program = p.id ORDER BY op)), '') AS ops,
  coalesce((SELECT group_concat(lower(hex(substr(finding, 1, 4))), ' ') FROM (SELECT id AS finding FROM finding WHERE program = p.id
    UNION SELECT finding FROM observation WHERE program = p.id UNION SELECT finding FROM event WHERE program = p.id)), '') AS findings,
  p.text, lower(hex(p.id)) AS full_id
FROM program p ORDER BY p.id;
CREATE VIEW v_counters AS
SELECT lower(hex(c.run)) AS run, r.seed, r.shard, r.policy, strftime('%Y-%m-%dT%H:%M:%SZ', r.started / 1000, 'unixepoch')
  AS started, e.family, e.version, e.target, e.device, e.machine, c.verdict, c.n
FROM counter_total c JOIN run r ON r.id = c.run JOIN environment e ON e.id = c.environment
ORDER BY r.started, c.run, e.target, c.verdict;
-- Each operator is counted with every program of the blocks in which it could be drawn.
CREATE VIEW v_tried AS
WITH blocks AS MATERIALIZED (
  SELECT *, dense_rank() OVER (ORDER BY dtype, policy, target, version) AS nth
  FROM (SELECT t.ops, t.dtype, t.policy, e.target, e.version, sum(t.n) AS programs, sum(t.n * (t.verdict = 'pass')) AS passed,
      sum(t.n * (t.verdict IN ('mismatch', 'crash', 'hang'))) AS diverging
    FROM tried t JOIN environment e ON e.id = t.environment GROUP BY t.ops, t.dtype, t.policy, e.target, e.version))
SELECT o.op, b.dtype, b.policy, b.target, b.version, sum(b.programs) AS programs, sum(b.passed) AS passed, sum(b.diverging) AS diverging
FROM operator o JOIN blocks b ON b.ops = o.ops GROUP BY o.op, b.nth ORDER BY o.op, b.nth;
CREATE VIEW v_by_version AS
SELECT lower(hex(substr(f.id, 1, 4))) AS id, s.signature, s.state, s.severity, e.family, e.version, e.device,
  sum(c.n * (c.verdict <> 'pass')) AS nfail, sum(c.n * (c.verdict = 'pass')) AS npass,
  strftime('%Y-%m-%dT%H:%M:%SZ', min(c.first) / 1000, 'unixepoch') AS first_seen,
  strftime('%Y-%m-%dT%H:%M:%SZ', max(c.last) / 1000, 'unixepoch') AS last_seen, lower(hex(f.id)) AS full_id
FROM finding f JOIN observation_count c ON c.finding = f.id JOIN environment e ON e.id = c.environment
  JOIN finding_summary s ON s.finding = f.id
GROUP BY f.id, e.family, e.version, e.device ORDER BY f.id, e.family, e.version, e.device;
