-- Which records of the log belong together. Everything here follows from the log and can be made again.
-- The number of the next family, and the position of the log before which every record has been placed.
CREATE TABLE standing (only INTEGER PRIMARY KEY CHECK (only = 1), next INTEGER NOT NULL, through INTEGER NOT NULL) STRICT;
INSERT INTO standing VALUES (1, 1, 0);
-- What a family is known by.
CREATE TABLE keys (hash INTEGER PRIMARY KEY, family INTEGER NOT NULL) STRICT;
-- What families may be joined by once somebody asks for it.
CREATE TABLE offers (hash INTEGER NOT NULL, family INTEGER NOT NULL, PRIMARY KEY (hash, family)) STRICT, WITHOUT ROWID;
-- Families that became part of another one.
CREATE TABLE joined (family INTEGER PRIMARY KEY, into_family INTEGER NOT NULL) STRICT;
-- The entries of the log that hold records of a family.
CREATE TABLE entries (family INTEGER NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (family, position)) STRICT, WITHOUT ROWID;
CREATE INDEX entries_by_position ON entries (position);
-- Streams that came in several entries, in their order, and where in the stream each begins.
CREATE TABLE streams (
    name TEXT NOT NULL, position INTEGER NOT NULL, "offset" INTEGER NOT NULL, PRIMARY KEY (name, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX streams_by_position ON streams (position);
-- How many bytes each entry of the log has, as it was received.
CREATE TABLE sizes (position INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;
-- The sessions a family came to, and what became of its records.
CREATE TABLE sessions (id BLOB PRIMARY KEY, family INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_family ON sessions (family);
-- By the source of the records; what they came to together stands with one of the sources.
CREATE TABLE counts (
    family INTEGER NOT NULL, source TEXT NOT NULL, stored INTEGER NOT NULL, duplicate INTEGER NOT NULL, rejected INTEGER NOT NULL,
    steps INTEGER NOT NULL, sessions INTEGER NOT NULL, subagents INTEGER NOT NULL, unlinked INTEGER NOT NULL, PRIMARY KEY (family, source)
) STRICT, WITHOUT ROWID;
-- What was odd in records that belong to no session, by the source of the records. Ids of records stand one behind the other.
CREATE TABLE loose (
    family INTEGER NOT NULL, source TEXT NOT NULL, code TEXT NOT NULL, detail TEXT NOT NULL, stream TEXT NOT NULL, count INTEGER NOT NULL,
    records BLOB NOT NULL, PRIMARY KEY (family, source, code, detail)
) STRICT, WITHOUT ROWID;
