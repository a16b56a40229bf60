-- From schema version 1 to 2, second part. Everything here follows from the rows alone, so that two machines which migrate equal stores
-- get equal stores. SQL functions of store_migrate.c: row_key(TABLE, COLUMN...) is the key of a row of that table;
-- version_in('torch 2.11.0+cu130, python 3.11.2') is '2.11.0'.

INSERT INTO finding_state VALUES ('duplicate', 8, 0, 1);
INSERT INTO event_kind VALUES ('duplicate', 'duplicate', 1);

-- What is known of a target's name: its family and what comes after the version. The version in it is a claim: with --python it need not
-- have been the one that ran.
CREATE TABLE old_name (target TEXT NOT NULL PRIMARY KEY, family TEXT NOT NULL, rest TEXT NOT NULL, gpu INTEGER NOT NULL) STRICT;
INSERT INTO old_name SELECT target, substr(head, 1, instr(head || '-', '-') - 1), substr(target, length(head) + 1),
    instr(target, '@cuda') > 0
  FROM (SELECT target, substr(target, 1, instr(target || ':', ':') - 1) AS head
    FROM (SELECT target FROM old_environment UNION SELECT target FROM old_counter));

-- The version is what the interpreter said of itself. Its name gets that version, if it said it of this family (the built-in targets
-- say the tool's). What version 1 called the device of a target on the CPU was the machine.
CREATE TABLE old_moved (id BLOB NOT NULL PRIMARY KEY, new BLOB NOT NULL, family TEXT NOT NULL, version TEXT NOT NULL,
  target TEXT NOT NULL, versions TEXT NOT NULL, device TEXT NOT NULL, machine TEXT NOT NULL) STRICT;
INSERT INTO old_moved SELECT id, row_key('environment', family, version, target, versions, device, machine), family, version, target,
    versions, device, machine
  FROM (SELECT id, family, version, versions, iif(own AND version <> '', family || '-' || version || rest, target) AS target,
      iif(gpu, 'cuda: ' || device, 'cpu') AS device, iif(gpu OR device = 'cpu', '', device) AS machine
    FROM (SELECT e.id, n.family, version_in(e.versions) AS version, e.versions, e.device,
        e.target, n.rest, n.gpu, version_in(e.versions) <> '' AND substr(e.versions, 1, length(n.family) + 1) = n.family || ' ' AS own
      FROM old_environment e JOIN old_name n ON n.target = e.target));
INSERT INTO environment (id, family, version, target, versions, device, machine)
  SELECT new, family, version, target, versions, device, machine FROM old_moved WHERE true ON CONFLICT (id) DO NOTHING;

-- Counters knew the target's name only. All targets of a run ran on one interpreter and device: if the run's observations agree
-- on what that was, it is known.
CREATE TABLE old_home (run BLOB NOT NULL PRIMARY KEY, family TEXT NOT NULL, version TEXT NOT NULL, versions TEXT NOT NULL,
  device TEXT NOT NULL, machine TEXT NOT NULL) STRICT;
INSERT INTO old_home SELECT c.run, min(m.family), min(m.version), min(m.versions), min(m.device), min(m.machine)
  FROM old_count c JOIN old_moved m ON m.id = c.environment
  GROUP BY c.run HAVING count(DISTINCT json_array(m.family, m.versions, m.device, m.machine)) = 1 AND min(m.version) <> '';
CREATE TABLE old_counted (run BLOB NOT NULL, draw BLOB NOT NULL, environment BLOB NOT NULL, family TEXT NOT NULL, version TEXT NOT NULL,
  target TEXT NOT NULL, versions TEXT NOT NULL, device TEXT NOT NULL, machine TEXT NOT NULL, verdict TEXT NOT NULL,
  n INTEGER NOT NULL) STRICT;
INSERT INTO old_counted SELECT run, draw, row_key('environment', family, version, target, versions, device, machine), family, version,
    target, versions, device, machine, verdict, n
  FROM (SELECT c.run, c.draw, n.family, coalesce(h.version, '') AS version,
      iif(substr(h.versions, 1, length(n.family) + 1) = n.family || ' ', n.family || '-' || h.version || n.rest, c.target) AS target,
      coalesce(h.versions, '') AS versions, coalesce(h.device, iif(n.gpu, 'cuda', 'cpu')) AS device, coalesce(h.machine, '') AS machine,
      c.verdict, c.n
    FROM old_counter c JOIN old_name n ON n.target = c.target LEFT JOIN old_home h ON h.run = c.run AND h.family = n.family);
INSERT INTO environment (id, family, version, target, versions, device, machine)
  SELECT DISTINCT environment, family, version, target, versions, device, machine FROM old_counted WHERE true ON CONFLICT (id) DO NOTHING;
INSERT INTO counter (run, draw, environment, verdict, n)
  SELECT run, draw, environment, verdict, sum(n) FROM old_counted GROUP BY 1, 2, 3, 4;
INSERT INTO observation_count (finding, environment, run, verdict, n, first, last)
  SELECT c.finding, m.new, c.run, c.verdict, sum(c.n), min(c.first), max(c.last)
  FROM old_count c JOIN old_moved m ON m.id = c.environment GROUP BY 1, 2, 3, 4;

-- Which program an observation was of is known only of those that made the finding: they have the moment of its event 'found'. Of two
-- in one moment it is not known which. The others are counted only.
CREATE TABLE old_kept (id BLOB NOT NULL PRIMARY KEY) STRICT;
INSERT INTO old_kept SELECT o.id FROM old_observation o WHERE o.verdict <> 'pass'
  AND EXISTS (SELECT 1 FROM event e WHERE e.finding = o.finding AND e.at = o.at AND e.kind = 'found')
  AND NOT EXISTS (SELECT 1 FROM old_observation x WHERE x.finding = o.finding AND x.at = o.at AND x.id <> o.id);
INSERT INTO observation (id, finding, program, environment, run, at, verdict, tensor, fill, call, detail)
  SELECT row_key('observation', o.finding, f.program, m.new, o.run, o.at, o.verdict, o.tensor, o.fill, o.call, o.detail),
    o.finding, f.program, m.new, o.run, o.at, o.verdict, o.tensor, o.fill, o.call, o.detail
  FROM old_kept k JOIN old_observation o ON o.id = k.id JOIN finding f ON f.id = o.finding JOIN old_moved m ON m.id = o.environment;
CREATE TABLE old_lost (finding BLOB NOT NULL PRIMARY KEY, at INTEGER NOT NULL, payload TEXT NOT NULL) STRICT;
INSERT INTO old_lost SELECT finding, max(at), count(*) || ' observation' || iif(count(*) = 1, ' is', 's are') || ' only counted since '
    || 'the move to schema version 2: version 1 did not keep which program was observed'
  FROM old_observation WHERE verdict <> 'pass' AND id NOT IN (SELECT id FROM old_kept) GROUP BY finding;
INSERT INTO event (id, finding, at, kind, tool, payload, program, issue)
  SELECT row_key('event', finding, at, 'note', 'schema version 2', payload, NULL, NULL), finding, at, 'note', 'schema version 2',
    payload, NULL, NULL
  FROM old_lost;

-- Severity sorts now.
INSERT INTO event (id, finding, at, kind, tool, payload, program, issue)
  SELECT row_key('event', finding, at, kind, tool, 'trivial', program, issue), finding, at, kind, tool, 'trivial', program, issue
  FROM event WHERE kind = 'severity' AND payload = 'low' ON CONFLICT (id) DO NOTHING;
DELETE FROM event WHERE kind = 'severity' AND payload = 'low';

-- A duplicate was dismissed, with a note of the same moment that named the original.
CREATE TABLE old_pair (state BLOB NOT NULL PRIMARY KEY, note BLOB NOT NULL, original TEXT NOT NULL) STRICT;
INSERT INTO old_pair SELECT s.id, min(n.id), substr(n.payload, 14) FROM event s JOIN event n ON n.finding = s.finding AND n.at = s.at
  WHERE s.kind = 'state' AND s.payload = 'dismissed' AND n.kind = 'note' AND substr(n.payload, 1, 13) = 'duplicate of '
    AND length(n.payload) = 45 AND substr(n.payload, 14) NOT GLOB '*[^0-9a-f]*'
  GROUP BY s.id;
INSERT INTO event (id, finding, at, kind, tool, payload, program, issue)
  SELECT row_key('event', e.finding, e.at, 'duplicate', e.tool, p.original, NULL, NULL), e.finding, e.at, 'duplicate', e.tool,
    p.original, NULL, NULL
  FROM old_pair p JOIN event e ON e.id = p.state WHERE true ON CONFLICT (id) DO NOTHING;
DELETE FROM event WHERE id IN (SELECT state FROM old_pair UNION SELECT note FROM old_pair);

DROP TABLE old_pair;
DROP TABLE old_lost;
DROP TABLE old_kept;
DROP TABLE old_counted;
DROP TABLE old_home;
DROP TABLE old_moved;
DROP TABLE old_name;
DROP TABLE old_observation;
DROP TABLE old_count;
DROP TABLE old_counter;
DROP TABLE old_environment;
