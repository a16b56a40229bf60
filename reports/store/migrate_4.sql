-- From schema version 3 to 4: a broken invariant is a kind of its own, and the event of a minimised program is called as the state that it
-- makes. A row's key is the hash of what it says, so it becomes another one.
INSERT INTO finding_kind VALUES ('invariant', 'a compiler that checks itself broke an invariant; nothing was run');
INSERT INTO event_kind SELECT 'minimised', state, decides FROM event_kind WHERE name = 'minimized';
UPDATE event SET kind = 'minimised', id = row_key('event', finding, at, 'minimised', tool, payload, program, issue) WHERE kind = 'minimized';
DELETE FROM event_kind WHERE name = 'minimized';
