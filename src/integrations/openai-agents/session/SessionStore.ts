import type { AgentInputItem, SessionHistoryMutation, SessionHistoryTransaction } from "@openai/agents-core";
import { count, listOf, optional, pair, text } from "../../../checkpoint/format/fieldTests.ts";
import { canonicalText } from "../../../checkpoint/values/isSameValue.ts";
import { KeyMissingError } from "../../../errors/encryptionErrors.ts";
import { SessionConflictError } from "../../../errors/integrationErrors.ts";
import { Mutex } from "../../../internal/Mutex.ts";
import { KeptLogs, dropUnread } from "../../../journal/shape/KeptLogs.ts";
import { readShape, type ShapeView } from "../../../journal/shape/readShape.ts";
import { logIdOf, type ShapeDefinition } from "../../../journal/shape/ShapeDefinition.ts";
import type { ShapedLog } from "../../../journal/shape/ShapedLog.ts";
import type { LogStorage } from "../../../storage/PersistenceStorageProvider.ts";
import { type Telemetry, traced } from "../../../telemetry/Telemetry.ts";
import { countOf, itemsOfRange, type NumberRange, numbersIn, rangesOf } from "./NumberRange.ts";
import {
  mutationRecords,
  recordsOf,
  type SessionChange,
  SessionState,
  type CallId,
  type SessionRecord,
  type SessionItem,
} from "./SessionState.ts";

type SessionLog = ShapedLog<SessionRecord, SessionState>;

/** Identifies a change of a durable run. */
interface RunPart {
  /** Identifies the run and, if a tool call uses the session, that call. */
  readonly run: string;
  /** The number of changes that the run made before, counted like `done` of {@link ProgressRecord}. */
  readonly before: number;
  /** The provider's ids of calls in the change. Omitted if the session contains the same ids. */
  readonly callIds?: readonly CallId[];
}

export interface ReadItems {
  readonly items: readonly AgentInputItem[];
  /** The numbers of the items. A resumed run reads the same items by these numbers. */
  readonly numbers: readonly NumberRange[];
  readonly done: number;
}

/** Returns the last items, as the sessions of the SDK do. */
export function lastItems<Item>(items: readonly Item[], limit: number): Item[] {
  return items.slice(Math.max(0, items.length - limit));
}

/** A session in a storage. Changes are made one after another, and are durable when their promises resolve. */
export class SessionStore {
  readonly #storage: LogStorage;
  readonly #sessionId: string;
  readonly #telemetry: Telemetry | undefined;
  readonly #logs: KeptLogs<SessionRecord, SessionState>;
  readonly #changes = new Mutex();
  readonly #reads = new Mutex();
  #view: ShapeView<SessionRecord, SessionState> | undefined;

  constructor(storage: LogStorage, sessionId: string, telemetry?: Telemetry) {
    this.#storage = storage;
    this.#sessionId = sessionId;
    this.#telemetry = telemetry;
    this.#logs = new KeptLogs(sessionShape, { storage });
  }

  /** Returns the items in order, without owning the session. `limit` counts from the end. Defaults to all items. */
  async items(limit = Number.POSITIVE_INFINITY): Promise<AgentInputItem[]> {
    return this.#read(({ items }) => lastItems(items, limit));
  }

  /** Returns all items with their numbers, and the number of changes that a durable run has made. */
  async numberedItems(run: string): Promise<ReadItems> {
    let read: Omit<ReadItems, "items"> = { numbers: [], done: 0 };
    const items = await this.#read((state) => {
      read = { numbers: rangesOf(state.items), done: state.progressOf(run).done };
      return state.items;
    });
    return { items, ...read };
  }

  /** Undoes the changes of a durable run, because the run starts again. */
  async takeBack(run: string): Promise<void> {
    await this.#write(async (log) => {
      if (log.state.progressOf(run).done > 0) log.append(setBackTo(log.state, { run, before: 0 }), { last: true });
    });
  }

  /** Forgets the changes of a deleted run, because a new run has the same id. */
  async forgetRun(run: string): Promise<void> {
    await this.#write(async (log) => {
      if (log.state.progressOf(run).done > 0) log.append([{ kind: "progress", run, done: 0 }], { last: true });
    });
  }

  async itemsOf(numbers: readonly NumberRange[]): Promise<AgentInputItem[]> {
    return this.#read(({ known }) => numbers.flatMap((range) => itemsOfRange(known, range)));
  }

  async callIds(): Promise<readonly CallId[]> {
    let callIds: readonly CallId[] = [];
    await this.#read((state) => {
      ({ callIds } = state);
      return [];
    });
    return callIds;
  }

  async change(change: SessionChange): Promise<void> {
    const replacesAll = change.type === "clear" || change.type === "replace";
    await this.#write(async (log) => append(log, change, ...(replacesAll ? [forgetReplaced] : [])));
  }

  /** Removes all items. Deletes a session whose data key was destroyed, because the session cannot be read. */
  async clear(): Promise<void> {
    try {
      await this.change({ type: "clear" });
    } catch (error) {
      if (!(error instanceof KeyMissingError) || error.keyId !== undefined) throw error;
      await dropUnread(this.#storage.log, logIdOf(sessionShape, this.#sessionId));
    }
  }

  /** Makes a change of a durable run, or the part of it that the run has not made before. */
  async changeOnce(change: SessionChange, part: RunPart): Promise<void> {
    const { run, before } = part;
    await this.#write(async (log) => {
      const isSame = await isRepeated(log, change, part);
      if (!isSame) log.append(setBackTo(log.state, part));
      const made = log.state.progressOf(run).done - before;
      const size = change.type === "add" ? change.items.length : 1;
      if (made >= size) return;
      const rest = change.type === "add" ? { ...change, items: change.items.slice(Math.max(made, 0)) } : change;
      append(log, rest, ...partRecords(log.state, rest, { ...part, done: before + size }));
    });
  }

  async pop(): Promise<AgentInputItem | undefined> {
    let popped: AgentInputItem | undefined;
    await this.#write(async (log) => {
      [popped] = await decoded(log, log.state.items.slice(-1));
      append(log, { type: "pop" });
    });
    return popped;
  }

  async mutate(mutations: readonly SessionHistoryMutation[]): Promise<void> {
    if (mutations.length === 0) return;
    await this.#write(async (log) => {
      const items = await decoded(log, log.state.items);
      log.append(mutationRecords(items, mutations, encoderOf(log)), { last: true });
    });
  }

  /** Applies a transaction at most once. If the call rejects, the session is unchanged. @throws SessionConflictError */
  async transact(operation: string, transaction: SessionHistoryTransaction): Promise<void> {
    const sha256 = await this.#storage.sha256();
    const digest = sha256.base64url(canonicalText(transaction) ?? "");
    await this.#write(async (log) => {
      const applied = log.state.digestOf(operation);
      if (applied === digest) return;
      if (applied !== undefined) throw new SessionConflictError(this.#sessionId, operation, "operation_reused");
      append(log, await this.#changeOf(log, operation, transaction), { kind: "transaction", operation, digest });
    });
  }

  async prune(): Promise<{ readonly bytes: number }> {
    const operation = { kind: "prune", agentId: this.#sessionId } as const;
    return traced(
      this.#telemetry,
      () => operation,
      async (span) => {
        const { bytes } = await this.#changes.runExclusive(() => this.#logs.use(this.#sessionId, prunedLog));
        span.add({ prunedBytes: bytes });
        return { bytes };
      },
    );
  }

  async close(): Promise<void> {
    await this.#changes.runExclusive(() => this.#logs[Symbol.asyncDispose]());
  }

  async #changeOf(log: SessionLog, operation: string, transaction: SessionHistoryTransaction): Promise<SessionChange> {
    if (transaction.type === "append_items") return { type: "add", items: transaction.items };
    const { expectedSuffix, replacement: items } = transaction;
    const { length: drop } = expectedSuffix;
    const { items: stored } = log.state;
    const suffix = drop > stored.length ? undefined : await decoded(log, stored.slice(stored.length - drop));
    if (suffix === undefined || canonicalText(suffix) !== canonicalText(expectedSuffix))
      throw new SessionConflictError(this.#sessionId, operation, "suffix_differs");
    return { type: "suffix", drop, items };
  }

  async #write(change: (log: SessionLog) => Promise<void>): Promise<void> {
    const store = () =>
      this.#logs.use(this.#sessionId, async (log) => {
        await change(log);
        await log.durable();
      });
    const operation = { kind: "save", agentId: this.#sessionId } as const;
    await traced(
      this.#telemetry,
      () => operation,
      () => this.#changes.runExclusive(store),
    );
  }

  async #read(choose: (state: SessionState) => readonly SessionItem[]): Promise<AgentInputItem[]> {
    return this.#reads.runExclusive(async () => {
      const { log } = this.#storage;
      this.#view = await readShape(sessionShape, { log, id: this.#sessionId }, { known: this.#view }).catch(
        (error: unknown) => {
          this.#view = undefined;
          throw error;
        },
      );
      return decoded(this.#view, choose(this.#view.state));
    });
  }
}

/** Keeps the rollback of a run from restoring items that a user has removed. The id belongs to no run. */
const forgetReplaced: SessionRecord = { kind: "progress", run: " ", done: 0, dropped: [] };

async function prunedLog(log: SessionLog): Promise<{ readonly bytes: number }> {
  const { known, items } = log.state;
  if (known.size > items.length) log.append([forgetReplaced], { last: true });
  return log.prune();
}

/** Returns the records about the progress of a run, which are appended together with its change. */
function partRecords(
  { next, items }: SessionState,
  change: SessionChange,
  { run, done, callIds = [] }: RunPart & { readonly done: number },
): SessionRecord[] {
  const count = change.type === "add" || change.type === "replace" ? change.items.length : 0;
  const added = count > 0 && { added: [[next, next + count - 1]] as const };
  const dropped = (change.type === "replace" || change.type === "clear") && { dropped: rangesOf(items) };
  const named: SessionRecord[] = callIds.length > 0 ? [{ kind: "call_ids", ids: callIds }] : [];
  return [{ kind: "progress", run, done, ...added, ...dropped }, ...named];
}

/** Returns whether a change repeats the earlier change of the run with this number. Compares only stored items. */
async function isRepeated(log: SessionLog, change: SessionChange, { run, before }: RunPart): Promise<boolean> {
  const items = "items" in change ? change.items : [];
  const progress = log.state.progressOf(run);
  const made =
    change.type === "add" ? addedAt(progress, before, items.length) : replacedAt(progress, before, items.length);
  if (typeof made === "boolean") return made;
  const at = new Map(made.map((number, index) => [number, index]));
  const stored = log.state.items.filter(({ number }) => at.has(number));
  const known = await decoded(log, stored);
  return stored.every(({ number }, index) => canonicalText(known[index]) === canonicalText(items[at.get(number) ?? 0]));
}

type Progress = ReturnType<SessionState["progressOf"]>;

/** Returns the numbers of the items that the run added from the change `before` on. `false` if items were replaced. */
function addedAt(progress: Progress, before: number, length: number): readonly (number | undefined)[] | false {
  const made = Array.from({ length }, (_, index) => progress.at(before + index));
  return made.some((each) => typeof each === "object") ? false : (made as (number | undefined)[]);
}

/**
 * Checks whether the run has already replaced items at the change `before`. Returns the numbers of the new items if it
 * has, `true` if the run has made no such change yet, and `false` if the run has made a different change.
 */
function replacedAt(progress: Progress, before: number, length: number): readonly number[] | boolean {
  const made = progress.at(before);
  if (made === undefined) return true;
  return typeof made === "object" && countOf(made) === length ? numbersIn(made) : false;
}

/** Returns the records that undo the changes of a run from a number on. */
function setBackTo(state: SessionState, { run, before }: RunPart): SessionRecord[] {
  return [...state.progressOf(run).undone(state.items, before), { kind: "progress", run, done: before }];
}

/** Appends the records of a change, and `more`. Encodes values in the same turn of the event loop. */
function append(log: SessionLog, change: SessionChange, ...more: readonly SessionRecord[]): void {
  log.append([...recordsOf(log.state, change, encoderOf(log)), ...more], { last: true });
}

function encoderOf(log: SessionLog): Parameters<typeof recordsOf>[2] {
  return (item) => log.value(item, "an item of the session");
}

/** Decodes items to copies, because callers may modify them. */
async function decoded(
  from: { read(values: readonly SessionItem["value"][]): Promise<unknown[]> },
  items: readonly SessionItem[],
): Promise<AgentInputItem[]> {
  return structuredClone(await from.read(items.map(({ value }) => value))) as AgentInputItem[];
}

const isRange = (value: unknown): boolean => pair(value) && (value as NumberRange)[0] <= (value as NumberRange)[1];
const isCallId = (value: unknown): boolean => Array.isArray(value) && value.length === 2 && value.every(text);

const sessionShape: ShapeDefinition<SessionRecord, SessionState> = {
  name: "session",
  version: 1,
  records: {
    splice: { at: count, drop: optional(count), items: optional(listOf(() => true)), first: optional(count) },
    transaction: { operation: text, digest: text },
    progress: { run: text, done: count, added: optional(listOf(isRange)), dropped: optional(listOf(isRange)) },
    clear: { next: count },
    call_ids: { ids: listOf(isCallId) },
  },
  values: (record) => (record.kind === "splice" ? (record.items ?? []) : []),
  begin: () => new SessionState(),
};

const stores = new WeakMap<object, SessionStore>();

export function keepStore(session: object, store: SessionStore): void {
  stores.set(session, store);
}

export function storeOf(session: object): SessionStore | undefined {
  return stores.get(session);
}
