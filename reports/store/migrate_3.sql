-- From schema version 2 to 3: words of triage. Before it, store_migrate.c has made what version 3 has and this store lacked.
INSERT INTO event_kind VALUES
  ('unconfirmed', NULL, 0), ('excuse', NULL, 0), ('reach', NULL, 0), ('cure', NULL, 0), ('cause', NULL, 0);
