-- Behind the last page of a session's steps and edges there may be parts of one, of two more sorts (5 and 6). What is there stays as it is; a program that does
-- not know of parts must not read it.
SELECT 1;
