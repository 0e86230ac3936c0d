export const sqliteVersion = 1;

/** The number of bits for positions. Rows of an agent have the number `key << 30 | position`. */
export const positionBits = 30;

export const highestPosition = 2 ** positionBits - 1;

/**
 * The tables. The row number of an append encodes the agent and the position, so an append writes a single tree without
 * a separate index. `mark` is 1 for a snapshot, 2 for a record of removed appends, and 3 for both.
 *
 * Ids are stored as JSON, because a driver truncates texts at NUL. Sort keys are stored as bytes, because JSON would
 * sort differently.
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
