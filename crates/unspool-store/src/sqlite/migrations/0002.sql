-- What the list of sessions shows and filters by beside what it had. The values of sessions that are there already come when they are derived again: the
-- index of families of that time is of another version, so all of them are.
ALTER TABLE sessions ADD COLUMN sources BLOB NOT NULL DEFAULT x'';
ALTER TABLE sessions ADD COLUMN agent_kinds BLOB NOT NULL DEFAULT x'';
ALTER TABLE sessions ADD COLUMN models BLOB NOT NULL DEFAULT x'';
ALTER TABLE sessions ADD COLUMN subagent_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN issue_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN gaps BLOB NOT NULL DEFAULT x'';
ALTER TABLE sessions ADD COLUMN activity BLOB NOT NULL DEFAULT x'';
ALTER TABLE sessions ADD COLUMN duration_ns INTEGER;
