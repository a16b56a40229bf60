-- From schema version 3 to 4: a broken invariant is a kind of its own.
INSERT INTO finding_kind VALUES ('invariant', 'a compiler that checks itself broke an invariant; nothing was run');
