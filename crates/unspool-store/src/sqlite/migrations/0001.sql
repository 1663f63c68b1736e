-- The first schema. Ids are 16 bytes; moments are nanoseconds since the epoch; lists are bytes that only the program reads.

-- How far the store has come. One row.
CREATE TABLE standing (only INTEGER PRIMARY KEY CHECK (only = 1), version INTEGER NOT NULL, through INTEGER NOT NULL) STRICT;
INSERT INTO standing VALUES (1, 0, 0);

-- Every session that ever was, with the version of what is known of it. One without a row in `sessions` is gone.
CREATE TABLE session_versions (session INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, version INTEGER NOT NULL) STRICT;

CREATE TABLE sessions (
    session INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, native_ids BLOB NOT NULL, title TEXT NOT NULL, title_inferred INTEGER NOT NULL,
    cwd TEXT NOT NULL, versions BLOB NOT NULL, formats BLOB NOT NULL, status TEXT NOT NULL, started_ns INTEGER, ended_ns INTEGER,
    agent_count INTEGER NOT NULL, run_count INTEGER NOT NULL, step_count INTEGER NOT NULL, error_count INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL, cache_write_tokens INTEGER NOT NULL,
    cache_write_long_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL,
    uncounted_calls INTEGER NOT NULL, cost_nano_usd INTEGER, context_records INTEGER NOT NULL, native_bytes INTEGER NOT NULL,
    first_position INTEGER NOT NULL, end_position INTEGER NOT NULL, total_tokens INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_by_start ON sessions (COALESCE(started_ns, -9223372036854775808), id);
CREATE INDEX sessions_by_end ON sessions (COALESCE(ended_ns, -9223372036854775808), id);
CREATE INDEX sessions_by_first_position ON sessions (first_position);

-- Native ids and formats of sessions, to find them by.
CREATE TABLE session_words (
    role TEXT NOT NULL, word TEXT NOT NULL, session INTEGER NOT NULL, PRIMARY KEY (role, word, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_words_by_session ON session_words (session);

-- The other rows of a session, packed: agents, runs, steps, edges and issues, some thousand to a page. The key is session, sort and page in one
-- number, so that a session lies together; `sum` is a hash of the page before it is compressed: what did not change is not written again.
CREATE TABLE pages (key INTEGER PRIMARY KEY, sum INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;

-- What is not derived, and stays when the tables above are made again.
CREATE TABLE forgotten (id BLOB PRIMARY KEY, end_position INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE checkpoints (
    version INTEGER NOT NULL, source TEXT PRIMARY KEY, "offset" INTEGER NOT NULL, fingerprint BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE receipts (
    version INTEGER NOT NULL, source TEXT PRIMARY KEY, seen INTEGER NOT NULL, stored INTEGER NOT NULL, duplicate INTEGER NOT NULL,
    rejected INTEGER NOT NULL, last_ns INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE links (
    version INTEGER NOT NULL, id BLOB PRIMARY KEY, from_id BLOB NOT NULL, to_id BLOB NOT NULL, kind TEXT NOT NULL, verdict TEXT NOT NULL,
    author TEXT NOT NULL, said_ns INTEGER
) STRICT, WITHOUT ROWID;
