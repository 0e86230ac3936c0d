import { nextTurn } from "../../../src/internal/nextTurn.ts";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { parseBlobReference } from "../../../src/storage/blobs.ts";
import type { AgentSummary, LogOwner } from "../../../src/storage/RecordLog.ts";

/** One append as a row. */
export interface Row {
  readonly position: number;
  readonly generation: number;
  readonly id: string;
  readonly prev: string;
  readonly checksum: string;
  /** The records as JSON. */
  readonly body: Buffer;
  readonly snapshot: boolean;
}

/** The row of an agent, which outlives all its appends. */
export interface AgentRow {
  position: number;
  checksum: string;
  generation: number;
  owner: LogOwner | undefined;
  expiresAt: number;
  stop: string | undefined;
  summary: AgentSummary | undefined;
  gaps: readonly { readonly first: number; readonly last: number }[];
}

/** What an insert says: the rows it stored, or why there are none. */
export type Inserted = "stored" | "replaced" | "conflict";

/**
 * Tables in memory, and the statements that a log makes: each happens at once or not at all. An error after the fact
 * stands for a connection that broke before the answer came.
 */
export class Database {
  readonly agents = new Map<string, AgentRow>();
  readonly rows = new Map<string, Row[]>();
  readonly blobs = new Map<string, Map<string, Buffer>>();
  losesAnswer = false;

  /** An answer, or the error of a driver. */
  async write<Result>(statement: () => Result): Promise<Result> {
    await nextTurn();
    const result = statement();
    if (!this.losesAnswer) return result;
    this.losesAnswer = false;
    throw Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
  }

  async select<Result>(query: () => Result): Promise<Result> {
    await Promise.resolve();
    return query();
  }

  agent(agentId: string): AgentRow {
    const found = this.agents.get(agentId);
    if (found !== undefined) return found;
    const owner = { generation: 0, owner: undefined, expiresAt: 0, stop: undefined };
    const made = { position: 0, checksum: "", ...owner, summary: undefined, gaps: [] };
    this.agents.set(agentId, made);
    return made;
  }

  rowsOf(agentId: string): Row[] {
    return this.rows.get(agentId) ?? [];
  }

  /** Whether another owner may claim an agent. */
  isFree({ owner, expiresAt }: AgentRow, now: number): boolean {
    return owner === undefined || expiresAt <= now;
  }

  claim(agentId: string, owner: LogOwner, now: number, leaseMs: number): number | undefined {
    const agent = this.agent(agentId);
    if (!this.isFree(agent, now)) return undefined;
    Object.assign(agent, { owner, generation: agent.generation + 1, expiresAt: now + leaseMs, stop: undefined });
    return agent.generation;
  }

  isOwner(agentId: string, generation: number): boolean {
    const agent = this.agent(agentId);
    return agent.generation === generation && agent.owner !== undefined;
  }

  renew(agentId: string, generation: number, expiresAt: number): boolean {
    const isOwner = this.isOwner(agentId, generation);
    if (isOwner) this.agent(agentId).expiresAt = expiresAt;
    return isOwner;
  }

  insert(agentId: string, row: Row, summary: AgentSummary | undefined, gaps: AgentRow["gaps"]): Inserted {
    const agent = this.agent(agentId);
    if (!this.isOwner(agentId, row.generation)) return "replaced";
    if (row.position !== agent.position + 1) return "conflict";
    this.rows.set(agentId, [...this.rowsOf(agentId), row]);
    Object.assign(agent, { position: row.position, checksum: row.checksum, gaps: [...agent.gaps, ...gaps] });
    if (summary !== undefined) agent.summary = { ...summary, position: row.position };
    return "stored";
  }

  isPruned(agentId: string, position: number): boolean {
    return this.agent(agentId).gaps.some(({ first, last }) => first <= position && position <= last);
  }

  removePruned(agentId: string, generation: number): boolean {
    if (!this.isOwner(agentId, generation)) return false;
    this.rows.set(
      agentId,
      this.rowsOf(agentId).filter(({ position }) => !this.isPruned(agentId, position)),
    );
    return true;
  }

  remove(agentId: string, generation: number): boolean {
    if (!this.isOwner(agentId, generation)) return false;
    this.rows.delete(agentId);
    this.blobs.delete(agentId);
    Object.assign(this.agent(agentId), { checksum: "", owner: undefined, summary: undefined, gaps: [] });
    return true;
  }

  free(agentId: string, generation: number): void {
    if (this.isOwner(agentId, generation)) this.agent(agentId).owner = undefined;
  }

  isIntact(row: Row): boolean {
    return checksumOf(row) === row.checksum;
  }

  isIntactBlob(reference: string, bytes: Buffer): boolean {
    return parseBlobReference(reference)?.hash === nodeSha256.hex(bytes);
  }

  requestStop(agentId: string, reason: string): void {
    const agent = this.agent(agentId);
    if (agent.owner !== undefined) agent.stop = reason;
  }
}

export function checksumOf({ position, generation, id, prev, body }: Omit<Row, "checksum">): string {
  return nodeSha256.base64url(JSON.stringify([position, generation, id, prev, body.toString("base64")]));
}
