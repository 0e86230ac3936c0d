import { utf8 } from "../../internal/bytes.ts";
import type { TableBlobs } from "../table/LogTable.ts";
import type { PostgresConnection } from "./PostgresConnection.ts";
import { ownBytes } from "./postgresNames.ts";

export class PostgresBlobs implements TableBlobs {
  readonly #connection: PostgresConnection;

  constructor(connection: PostgresConnection) {
    this.#connection = connection;
  }

  async put(agentId: string, reference: string, bytes: Uint8Array): Promise<void> {
    const { agents, blobs } = this.#connection.names;
    const sql = `INSERT INTO ${blobs} (agent, reference, bytes)
      SELECT key, $2::text, $3::bytea FROM ${agents} WHERE id = $1::bytea
      ON CONFLICT (agent, reference) DO UPDATE SET bytes = excluded.bytes RETURNING agent`;
    const put = () => this.#connection.changes(sql, utf8(agentId), reference, bytes);
    if (await put()) return;
    await this.#ensureAgent(agentId);
    await put();
  }

  async get(agentId: string, reference: string): Promise<Uint8Array | undefined> {
    const { agents, blobs } = this.#connection.names;
    const sql = `SELECT b.bytes FROM ${agents} AS a JOIN ${blobs} AS b ON b.agent = a.key
      WHERE a.id = $1::bytea AND b.reference = $2::text`;
    const [row] = await this.#connection.rows<{ readonly bytes: Uint8Array }>(sql, utf8(agentId), reference);
    return row && ownBytes(row.bytes);
  }

  async delete(agentId: string, reference: string): Promise<void> {
    const { agents, blobs } = this.#connection.names;
    const sql = `DELETE FROM ${blobs} AS b USING ${agents} AS a
      WHERE a.id = $1::bytea AND b.agent = a.key AND b.reference = $2::text`;
    await this.#connection.rows(sql, utf8(agentId), reference);
  }

  async copy(fromAgentId: string, reference: string, toAgentId: string): Promise<boolean> {
    const { agents, blobs } = this.#connection.names;
    await this.#ensureAgent(toAgentId);
    const sql = `INSERT INTO ${blobs} (agent, reference, bytes)
      SELECT t.key, b.reference, b.bytes FROM ${agents} AS t, ${agents} AS f JOIN ${blobs} AS b ON b.agent = f.key
      WHERE t.id = $1::bytea AND f.id = $2::bytea AND b.reference = $3::text
      ON CONFLICT (agent, reference) DO UPDATE SET bytes = excluded.bytes RETURNING agent`;
    return this.#connection.changes(sql, utf8(toAgentId), utf8(fromAgentId), reference);
  }

  async #ensureAgent(agentId: string): Promise<void> {
    const sql = `INSERT INTO ${this.#connection.names.agents} (id) VALUES ($1::bytea) ON CONFLICT (id) DO NOTHING`;
    await this.#connection.rows(sql, utf8(agentId));
  }
}
