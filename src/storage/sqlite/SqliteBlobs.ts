import type { TableBlobs } from "../table/LogTable.ts";
import type { SqliteConnection } from "./SqliteConnection.ts";

export type Bytes = Uint8Array | ArrayBuffer;

export class SqliteBlobs implements TableBlobs {
  readonly #at: <Result>(action: (db: SqliteConnection) => Result) => Promise<Result>;

  constructor(at: <Result>(action: (db: SqliteConnection) => Result) => Promise<Result>) {
    this.#at = at;
  }

  put(agentId: string, reference: string, bytes: Uint8Array): Promise<void> {
    return this.#at((db) => {
      const id = JSON.stringify(agentId);
      const sql = `INSERT INTO agent_persistence_blobs (agent, reference, bytes)
        SELECT key, ?, coalesce(?, x'') FROM agent_persistence_agents WHERE id = ?
        ON CONFLICT (agent, reference) DO UPDATE SET bytes = excluded.bytes`;
      if (db.run(sql, reference, bytes, id) > 0) return;
      db.transaction(() => {
        // The agent never had an owner, so its row is missing.
        ensureAgent(db, id);
        db.run(sql, reference, bytes, id);
      });
    });
  }

  get(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    return this.#at((db) => {
      const sql = `SELECT b.bytes FROM agent_persistence_agents AS a
        JOIN agent_persistence_blobs AS b ON b.agent = a.key WHERE a.id = ? AND b.reference = ?`;
      const row = db.get<{ readonly bytes: Bytes }>(sql, JSON.stringify(agentId), reference);
      return row && bytesOf(row.bytes);
    });
  }

  copy(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean> {
    return this.#at((db) => {
      const sql = `INSERT INTO agent_persistence_blobs (agent, reference, bytes)
        SELECT t.key, b.reference, b.bytes FROM agent_persistence_agents AS t, agent_persistence_agents AS f
        JOIN agent_persistence_blobs AS b ON b.agent = f.key WHERE t.id = ? AND f.id = ? AND b.reference = ?
        ON CONFLICT (agent, reference) DO UPDATE SET bytes = excluded.bytes`;
      const id = JSON.stringify(toAgentId);
      return db.transaction(() => {
        ensureAgent(db, id);
        return db.run(sql, id, JSON.stringify(fromAgentId), reference) > 0;
      });
    });
  }

  delete(agentId: string, reference: string): Promise<void> {
    return this.#at((db) => {
      const sql = `DELETE FROM agent_persistence_blobs
        WHERE agent = (SELECT key FROM agent_persistence_agents WHERE id = ?) AND reference = ?`;
      db.run(sql, JSON.stringify(agentId), reference);
    });
  }
}

export function ensureAgent(db: SqliteConnection, id: string): void {
  db.run("INSERT OR IGNORE INTO agent_persistence_agents (id, generation, beat) VALUES (?, ?, '')", id, 0);
}

export function bytesOf(bytes: Bytes): Uint8Array {
  return new Uint8Array(bytes);
}
