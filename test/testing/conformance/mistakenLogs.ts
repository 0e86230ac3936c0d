import type { LogOwner, OwnedLog, RecordLog } from "../../../src/storage/RecordLog.ts";
import type { RecordLogHarness } from "../../../src/testing.ts";
import { Database } from "../database/Database.ts";
import { delegatingLog, type LogChanges, type OwnedChanges } from "../delegatingLog.ts";
import { inDatabase } from "./logsUnderTest.ts";

/** A log in a database of which every instance does something else. */
export function everyInstance(
  change: (log: RecordLog) => LogChanges,
  changeOwned?: (owned: OwnedLog, log: RecordLog, agentId: string) => OwnedChanges,
): RecordLogHarness {
  const harness = inDatabase();
  const wrap = (log: RecordLog) =>
    delegatingLog(log, change(log), (owned, agentId) => changeOwned?.(owned, log, agentId) ?? {});
  return { ...harness, log: wrap(harness.log), reopen: () => wrap(harness.reopen()) };
}

/** A log in a database of which every owner does something else. */
export function everyOwner(
  change: (owned: OwnedLog, log: RecordLog, agentId: string) => OwnedChanges,
): RecordLogHarness {
  return everyInstance(() => ({}), change);
}

/** A log in a database with one statement that does not ask who the owner is. */
export function trustingAnyone(statement: "insert" | "free" | "removePruned" | "remove"): RecordLogHarness {
  return inDatabase((database) => {
    const trusting = Object.assign(new Database(), database, { isOwner: () => true });
    return { [statement]: trusting[statement].bind(trusting) };
  });
}

/** A log that takes a look for a request. */
export function stoppingWhoLooks(): RecordLogHarness {
  return everyOwner((owned, log, agentId) => ({
    checkStop: async () => {
      await log.requestStop(agentId, "looked");
      await owned.checkStop?.();
    },
  }));
}

/** A log that does not forget who was asked to stop. */
export function keepingStops(): RecordLogHarness {
  return inDatabase((database) => ({
    claim: (...given) => {
      const { stop } = database.agent(given[0]);
      const generation = Database.prototype.claim.apply(database, given);
      database.agent(given[0]).stop = stop;
      return generation;
    },
  }));
}

/** A log that knows agents by something else than their ids. */
export function keyedBy(keyOf: (agentId: string) => string): RecordLogHarness {
  return everyInstance((log) => ({
    open: (agentId, owner) => log.open(keyOf(agentId), owner),
    read: (agentId, options) => log.read(keyOf(agentId), options),
    owner: (agentId) => log.owner(keyOf(agentId)),
  }));
}

/** What a driver threw. */
export async function passingOn<Result>(call: () => Promise<Result>): Promise<Result> {
  return call().catch((error: unknown) => {
    throw (error as Error).cause ?? error;
  });
}

/** An owner that takes the log anew when an append failed, and goes on with `retry`. */
export function startingOver(
  retry: (owned: OwnedLog, entry: Parameters<OwnedLog["append"]>[0], error: unknown) => Promise<number>,
): RecordLogHarness {
  const owner: LogOwner = { host: "test", processId: 1, nonce: "again" };
  return everyOwner((first, log, agentId) => {
    let owned = first;
    return {
      append: (entry, at) =>
        owned.append(entry, at).catch(async (error: unknown) => {
          await owned.release();
          owned = await log.open(agentId, owner);
          return retry(owned, entry, error);
        }),
      release: () => owned.release(),
    };
  });
}

/** A log that gives what it can read, and says nothing of the rest. */
export function skippingDamage(): RecordLogHarness {
  return everyInstance((log) => ({
    async *read(agentId, options) {
      const entries = log.read(agentId, options)[Symbol.asyncIterator]();
      for (;;) {
        const next = await entries.next().catch(() => ({ done: true, value: undefined }) as const);
        if (next.done === true) return;
        yield next.value;
      }
    },
  }));
}
