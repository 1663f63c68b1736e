-- What people say about links is in the log, as records. Nothing was ever written here.
DROP TABLE links;
