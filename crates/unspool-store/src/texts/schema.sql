-- How far the index has come: the version of the store it knows. And how many pages the file had when it was made dense. One row.
CREATE TABLE standing (only INTEGER PRIMARY KEY CHECK (only = 1), version INTEGER NOT NULL, dense_pages INTEGER NOT NULL) STRICT;
INSERT INTO standing VALUES (1, 0, 0);
-- Sessions with texts.
CREATE TABLE sessions (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE) STRICT;
-- The chunks of sessions; `sum` tells whether a chunk is still what it was. They are numbered one by one, because the index keeps the
-- differences of numbers. Rows are small, so that the sessions of many chunks are found in a few pages.
CREATE TABLE chunks (chunk INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, sum BLOB NOT NULL) STRICT;
CREATE INDEX chunks_by_session ON chunks (session, chunk);
-- Texts of chunks, compressed, where they are worth keeping twice. `leans_on` are the sums of the chunks of the session whose
-- texts were left out, or NULL when it may be any before it; `marks` what those it has are known by, eight bytes each: a session that grows is compared with them.
CREATE TABLE texts (chunk INTEGER PRIMARY KEY, leans_on BLOB, marks BLOB NOT NULL, text BLOB NOT NULL) STRICT;
-- Which words of a chunk follow each other, for chunks with texts: a few bits for each pair, so that most texts without a phrase need not be read. They lie apart
-- from the texts, because those of many chunks are looked at at once.
CREATE TABLE pairs (chunk INTEGER PRIMARY KEY, filter BLOB NOT NULL) STRICT;
-- The words of each chunk, each once. What is given to it has been cut into words already.
CREATE VIRTUAL TABLE words USING fts5 (list, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
