/** The version of {@link sqliteSchema}. */
export const sqliteVersion = 1;

/** How many positions an agent has: the rows of an agent are numbered `key << 30 | position`. */
export const positionBits = 30;

/** The highest position. */
export const highestPosition = 2 ** positionBits - 1;

/**
 * The tables. The number of an append tells its agent and its position, so an append is one row in one tree: an index beside
 * it would be written with every append, too. `mark`: 1 for a snapshot, 2 for a record of removed appends, 3 for both.
 *
 * Ids are JSON text, since a driver cuts texts at NUL. What a list is sorted by is bytes, which JSON would sort otherwise.
 */
export const sqliteSchema = `
CREATE TABLE IF NOT EXISTS agent_persistence (version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS agent_persistence_agents (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  generation INTEGER NOT NULL,
  start INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  beat TEXT NOT NULL,
  stop TEXT
);
CREATE TABLE IF NOT EXISTS agent_persistence_appends (number INTEGER PRIMARY KEY, mark INTEGER, line BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS agent_persistence_marks ON agent_persistence_appends (mark) WHERE mark IS NOT NULL;
CREATE TABLE IF NOT EXISTS agent_persistence_summaries (
  agent INTEGER PRIMARY KEY,
  status TEXT NOT NULL,
  place BLOB NOT NULL,
  name BLOB NOT NULL,
  due INTEGER,
  updated INTEGER NOT NULL,
  summary TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS agent_persistence_places ON agent_persistence_summaries (place, name);
CREATE INDEX IF NOT EXISTS agent_persistence_statuses ON agent_persistence_summaries (status, place, name);
CREATE TABLE IF NOT EXISTS agent_persistence_blobs (
  agent INTEGER NOT NULL,
  reference TEXT NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (agent, reference)
);
INSERT INTO agent_persistence (version) SELECT ${sqliteVersion} WHERE NOT EXISTS (SELECT 1 FROM agent_persistence);
`;
