import type { Clock } from "../../internal/Clock.ts";
import type { Sha256 } from "../../internal/sha256/Sha256.ts";
import type { StorageFailure } from "../../errors/storageErrors.ts";
import type {
  LogTable,
  TableAppend,
  TableBlobs,
  TableClaim,
  TableGap,
  TableHead,
  TableList,
  TablePage,
  TablePruned,
  TablePublication,
  TableRange,
  TableRenewal,
  TableSelection,
  TableSighting,
} from "../table/LogTable.ts";
import { AgentHeads } from "./slots/AgentHeads.ts";
import { type DynamoDBBackend, OwnedAgent, sweepDropped } from "./OwnedAgent.ts";
import { DynamoDBBlobs } from "./DynamoDBBlobs.ts";
import {
  type DynamoDBClient,
  DynamoDBConnection,
  dynamoDBAdvice,
  dynamoDBFailure,
} from "./items/DynamoDBConnection.ts";
import { listTableAgents } from "./lists/listTableAgents.ts";
import { ListEntries } from "./lists/ListEntries.ts";
import { SlotChain, type LastSlot, stateAttributes } from "./slots/SlotState.ts";
import { SlotReader } from "./slots/SlotReader.ts";
import { Summaries } from "./lists/Summaries.ts";

interface DynamoDBLogTableOptions {
  readonly client: DynamoDBClient;
  readonly tableName: string;
  readonly clock: Clock;
  readonly sha256: () => Promise<Sha256>;
  /** If `undefined`, the remaining items of a dropped agent are kept. */
  readonly expireDroppedAfterDays?: number | undefined;
}

const secondsOfDay = 86_400;

/** Stores agents in a DynamoDB table. Each write is one conditional request for one item, without transactions. */
export class DynamoDBLogTable implements LogTable {
  readonly name = "DynamoDB";
  readonly capabilities = {
    durable: true,
    processes: "many",
    machines: "many",
    listing: "exact",
    narrows: true,
  } as const;
  readonly blobs: TableBlobs;
  readonly #backend: DynamoDBBackend;
  readonly #entries: ListEntries;
  readonly #owned = new Map<string, OwnedAgent>();

  constructor({ client, tableName, clock, sha256, expireDroppedAfterDays = Infinity }: DynamoDBLogTableOptions) {
    const connection = new DynamoDBConnection(client, tableName, clock);
    const slots = new SlotChain(connection);
    this.#entries = new ListEntries(connection, sha256);
    this.#backend = {
      connection,
      heads: new AgentHeads(connection),
      slots,
      reader: new SlotReader(connection, slots),
      summaries: new Summaries(connection, slots, this.#entries, clock),
      expires: () => {
        const at = Math.ceil(clock.now() / 1000 + expireDroppedAfterDays * secondsOfDay);
        return Number.isSafeInteger(at) ? at : undefined;
      },
    };
    this.blobs = new DynamoDBBlobs(connection, (agentId) => this.#owned.get(agentId)?.generation ?? 0);
  }

  reasonOf(error: unknown): StorageFailure {
    return dynamoDBFailure(error);
  }

  adviceOn(error: unknown): string | undefined {
    return dynamoDBAdvice(error);
  }

  head(agentId: string): Promise<TableHead | undefined> {
    return this.#backend.heads.get(agentId);
  }

  async claim(agentId: string, claim: TableClaim, replaced?: TableSighting): Promise<number | undefined> {
    const owned = await takeOver(this.#backend, agentId, claim, replaced);
    if (owned) this.#owned.set(agentId, owned);
    return owned?.generation;
  }

  renew(agentId: string, generation: number, beat: string): Promise<TableRenewal | undefined> {
    return this.#backend.heads.renew(agentId, generation, beat);
  }

  async release(agentId: string, generation: number): Promise<void> {
    this.ended(agentId, generation);
    await this.#backend.heads.release(agentId, generation);
  }

  requestStop(agentId: string, generation: number, reason: string): Promise<void> {
    return this.#backend.heads.requestStop(agentId, generation, reason);
  }

  async append(agentId: string, generation: number, append: TableAppend): Promise<boolean> {
    return (await this.#of(agentId, generation)?.append(append)) ?? false;
  }

  rows(agentId: string, range: TableRange): Promise<TablePage> {
    return this.#backend.reader.rows(agentId, range);
  }

  async pruned(agentId: string): Promise<TablePruned> {
    const { start, pruned } = (await this.#backend.slots.last(agentId)).state;
    return { start, positions: pruned };
  }

  async remove(agentId: string, generation: number, ranges: readonly TableGap[]): Promise<boolean> {
    return (await this.#of(agentId, generation)?.remove(ranges)) ?? false;
  }

  async drop(agentId: string, generation: number): Promise<boolean> {
    return (await this.#of(agentId, generation)?.drop()) ?? false;
  }

  /** Accepts the claimed and the current generation, because a failed import possibly raised the generation. */
  ended(agentId: string, generation: number): void {
    const owned = this.#owned.get(agentId);
    if (owned && owned.claim <= generation && generation <= owned.generation) this.#owned.delete(agentId);
  }

  async stage(agentId: string, generation: number, appends: readonly TableAppend[], first: boolean): Promise<boolean> {
    return (await this.#of(agentId, generation)?.stage(appends, first)) ?? false;
  }

  async publish(agentId: string, generation: number, published: TablePublication): Promise<boolean> {
    return (await this.#of(agentId, generation)?.publish(published)) ?? false;
  }

  list(selection: TableSelection): Promise<TableList> {
    return listTableAgents({ ...this.#backend, entries: this.#entries }, selection);
  }

  #of(agentId: string, generation: number): OwnedAgent | undefined {
    const owned = this.#owned.get(agentId);
    return owned?.generation === generation ? owned : undefined;
  }
}

const maxAttempts = 100;

/**
 * Takes ownership of an agent. First raises the generation, then stores a claim in the slot in which the previous owner
 * would append next. Returns `undefined` if the agent has another owner.
 */
async function takeOver(
  backend: DynamoDBBackend,
  agentId: string,
  claim: TableClaim,
  replaced: TableSighting | undefined,
): Promise<OwnedAgent | undefined> {
  const generation = await backend.heads.take(agentId, claim, replaced);
  if (generation === undefined) return undefined;
  try {
    return await claimSlot(backend, agentId, claim.owner, generation);
  } catch (error) {
    await backend.heads.release(agentId, generation).catch(() => {});
    throw error;
  }
}

async function claimSlot(
  backend: DynamoDBBackend,
  agentId: string,
  owner: string,
  taken: number,
): Promise<OwnedAgent | undefined> {
  let generation = taken;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const last = await backend.slots.last(agentId);
    if (attempt > 0 && last.isClaim && last.generation === generation)
      return finishDrop(backend, { agentId, generation, owner }, last);
    if (last.generation >= generation) {
      // The last slot has this generation or a higher one. Either another owner took over, or the item with the
      // generation was lost or has expired. Only in the second case, `raise` succeeds.
      if (!(await backend.heads.raise(agentId, owner, generation, last.generation + 1))) return undefined;
      generation = last.generation + 1;
    } else await backend.slots.claim(agentId, generation, last);
  }
  throw new Error("other owners keep appending to the log");
}

async function finishDrop(
  backend: DynamoDBBackend,
  owner: { readonly agentId: string; readonly generation: number; readonly owner: string },
  { unswept, state }: LastSlot,
): Promise<OwnedAgent | undefined> {
  const { agentId, generation } = owner;
  if (unswept) {
    const { slot } = state;
    await sweepDropped(backend, { agentId, generation: generation - 1, slot, expires: backend.expires() });
    const attributes = { claim: generation, ...stateAttributes(state) };
    if (!(await backend.slots.append(agentId, generation, state, attributes))) return undefined;
  }
  return new OwnedAgent(backend, owner, state);
}
