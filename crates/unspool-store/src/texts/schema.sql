-- How far the index has come: the version of the store it knows. One row.
CREATE TABLE standing (only INTEGER PRIMARY KEY CHECK (only = 1), version INTEGER NOT NULL) STRICT;
INSERT INTO standing VALUES (1, 0);
-- Sessions with texts.
CREATE TABLE sessions (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE) STRICT;
-- Texts of sessions, compressed. The key is the session's number and the chunk's in one; `sum` tells whether a chunk is still what it was.
CREATE TABLE chunks (chunk INTEGER PRIMARY KEY, sum BLOB NOT NULL, text BLOB NOT NULL) STRICT;
-- The words of each chunk, each once. What is given to it has been cut into words already.
CREATE VIRTUAL TABLE words USING fts5 (list, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
