import { decodeEntry } from "../../../src/checkpoint/format/entryCodec.ts";
import type { Entry } from "../../../src/checkpoint/records/Entry.ts";
import { CorruptLogError } from "../../../src/errors/storedDataErrors.ts";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { MemoryRecordLog } from "../../../src/storage/memory/MemoryRecordLog.ts";
import type { AgentSummary, LogAppend, OwnedLog, ReadOptions, RecordLog } from "../../../src/storage/RecordLog.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { delegatingLog, delegatingOwner, type LogChanges, type OwnedChanges } from "../delegatingLog.ts";

/** A log with members that do something else. */
export function changed(change: (log: RecordLog) => LogChanges): RecordLog {
  const log = new MemoryRecordLog();
  return delegatingLog(log, change(log));
}

/** A log whose owners do something else. */
export function owning(change: (owned: OwnedLog, log: RecordLog, agentId: string) => OwnedChanges): RecordLog {
  const log = new MemoryRecordLog();
  return delegatingLog(log, {}, (owned, agentId) => change(owned, log, agentId));
}

/** A log that is read with other options. */
export function readingWith(change: (options: ReadOptions) => ReadOptions): RecordLog {
  return changed((log) => ({ read: (agentId, options = {}) => log.read(agentId, change(options)) }));
}

/** A log that gives other entries than it keeps. */
export function readingEntries(change: (entry: Entry) => Entry): RecordLog {
  return changed((log) => ({
    async *read(agentId, options) {
      for await (const entry of log.read(agentId, options)) yield change(entry);
    },
  }));
}

/** A log that lists something else. */
export function listing(change: (all: readonly AgentSummary[]) => readonly AgentSummary[]): RecordLog {
  return changed((log) => ({
    async *list(options) {
      yield* change(await collect(log.list(options)));
    },
  }));
}

export async function* filtered<Item>(
  items: AsyncIterable<Item>,
  keeps: (item: Item) => boolean,
): AsyncGenerator<Item> {
  for await (const item of items) if (keeps(item)) yield item;
}

/** A value with a change, where there is one. */
export function keep<Value extends object>(value: Value | undefined, change: Partial<Value>): Value | undefined {
  return value && { ...value, ...change };
}

export function storingWhatItRefuses(owned: OwnedLog): OwnedChanges {
  return {
    append: async (entry, at) => {
      try {
        return await owned.append(entry, at);
      } catch (error) {
        await owned.append(entry, owned.position);
        throw error;
      }
    },
  };
}

export async function writeAnyhow(log: RecordLog, agentId: string, entry: LogAppend): Promise<number> {
  const owned = await log.open(agentId, { host: "", processId: 0, nonce: "" });
  const position = await owned.append(entry, owned.position);
  await owned.release();
  return position;
}

/** The last to open owns, whoever did before. */
export function withTwoOwners(): RecordLog {
  const log = new MemoryRecordLog();
  const owners = new Map<string, OwnedLog>();
  return delegatingLog(log, {
    open: async (agentId, owner) => {
      await owners.get(agentId)?.release();
      const owned = await log.open(agentId, owner);
      owners.set(agentId, owned);
      return owned;
    },
  });
}

export function handingOutItsOwn(): RecordLog {
  const cache = new Map<string, Entry>();
  return readingEntries((entry) => {
    const known = cache.get(entry.checksum) ?? entry;
    cache.set(entry.checksum, known);
    return known;
  });
}

export function omittingWhatIsWritten(): RecordLog {
  const log = new MemoryRecordLog();
  const writing = new Set<string>();
  const list: RecordLog["list"] = (options) => filtered(log.list(options), ({ agentId }) => !writing.has(agentId));
  return delegatingLog(log, { list }, (owned, agentId) => ({
    append: async (entry, at) => {
      writing.add(agentId);
      await collect(log.list());
      const position = await owned.append(entry, at);
      writing.delete(agentId);
      return position;
    },
  }));
}

export function keepingStops(): RecordLog {
  const log = new MemoryRecordLog();
  const stops = new Map<string, string>();
  return delegatingLog(log, {
    requestStop: async (agentId, reason) => {
      stops.set(agentId, reason);
      await log.requestStop(agentId, reason);
    },
    open: async (agentId, owner) => {
      const owned = await log.open(agentId, owner);
      const reason = stops.get(agentId);
      if (reason !== undefined) await log.requestStop(agentId, reason);
      return owned;
    },
  });
}

export function pruningAnything(): RecordLog {
  const log = new MemoryRecordLog();
  const pruned = new Set<number>();
  const read: RecordLog["read"] = (agentId, options) =>
    filtered(log.read(agentId, options), ({ position }) => !pruned.has(position));
  return delegatingLog(log, { read }, (_owned, agentId) => ({
    prune: async () => {
      for (const { position } of (await collect(log.read(agentId))).slice(1, -1)) pruned.add(position);
    },
  }));
}

export function startingAnew(): RecordLog {
  let log: RecordLog = new MemoryRecordLog();
  return delegatingLog(log, {
    open: async (agentId, owner) => {
      const owned = await log.open(agentId, owner);
      return delegatingOwner(owned, { drop: async () => void (log = new MemoryRecordLog()) });
    },
    read: (agentId, options) => log.read(agentId, options),
  });
}

/** A log in memory whose members are there, though the contract lets them out. */
type Whole = RecordLog & Required<Pick<RecordLog, "encodedAppends" | "receive">>;

/** A log that gives other lines, or does something else with those it takes. */
export function moving(change: (log: Whole) => LogChanges): RecordLog {
  const log = new MemoryRecordLog();
  return delegatingLog(log, change(log));
}

/** Appends what it takes one line after another, as if the agent wrote it. */
export function appendingWhatItReceives(log: Whole): LogChanges {
  return {
    receive: async (agentId, owner, { appends: lines }, last) => {
      const owned = await log.open(agentId, owner);
      for await (const line of lines) {
        const decoded = decodeEntry(line, nodeSha256);
        if (!decoded.ok) throw new CorruptLogError(agentId, { file: "lines" }, "a line is not readable");
        await owned.append(decoded.entry, owned.position);
      }
      const append = await last({ generation: owned.generation, position: owned.position });
      await owned.append(append, owned.position);
      return owned;
    },
  };
}
