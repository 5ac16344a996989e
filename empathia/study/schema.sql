-- One study. Times are seconds since 1970 by the server's clock; values and layouts are JSON.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,
    quota INTEGER NOT NULL
) STRICT;

CREATE TABLE items (
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES tasks,
    context_id TEXT NOT NULL,
    emotion TEXT,
    turns TEXT NOT NULL,
    candidates TEXT NOT NULL,
    gold INTEGER            -- index of the human reply among the candidates, in a checkpoint
) STRICT;
CREATE INDEX items_of_task ON items (task);

CREATE TABLE annotators (
    id TEXT PRIMARY KEY,
    joined REAL NOT NULL,
    address TEXT NOT NULL,  -- the parameters of the address they came by
    began REAL,
    tries INTEGER NOT NULL DEFAULT 0,
    passed REAL,
    practised REAL,
    excluded REAL
) STRICT;

CREATE TABLE assignments (
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES tasks,
    annotator TEXT NOT NULL REFERENCES annotators,
    leased REAL NOT NULL,
    expires REAL NOT NULL,
    finished REAL,
    bonus INTEGER,
    UNIQUE (task, annotator)
) STRICT;
CREATE INDEX assignments_of_annotator ON assignments (annotator);

-- Where an item and its candidates stood for one annotator: layout[slot] is a candidate's index.
CREATE TABLE placements (
    assignment INTEGER NOT NULL REFERENCES assignments,
    annotator TEXT NOT NULL,
    item INTEGER NOT NULL REFERENCES items,
    position INTEGER NOT NULL,
    layout TEXT NOT NULL,
    PRIMARY KEY (annotator, item),
    UNIQUE (annotator, position)
) STRICT;

-- Every click ever acknowledged, never changed. `key` comes from the browser: sent twice, saved once.
CREATE TABLE clicks (
    annotator TEXT NOT NULL REFERENCES annotators,
    key TEXT NOT NULL,
    item INTEGER NOT NULL REFERENCES items,
    value TEXT NOT NULL,
    done INTEGER NOT NULL,
    seconds REAL NOT NULL,
    received REAL NOT NULL,
    PRIMARY KEY (annotator, key)
) STRICT;

-- The answer as it stands after the last click.
CREATE TABLE answers (
    annotator TEXT NOT NULL REFERENCES annotators,
    item INTEGER NOT NULL REFERENCES items,
    value TEXT NOT NULL,
    done REAL,
    seconds REAL NOT NULL,
    changed REAL NOT NULL,
    PRIMARY KEY (annotator, item)
) STRICT;
CREATE INDEX answers_of_item ON answers (item);
