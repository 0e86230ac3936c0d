import { SimulatedCrashError } from "../../errors/testingErrors.ts";
import { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";
import { checkSchema } from "../../internal/options/checkSchema.ts";
import { integerFrom } from "../../internal/options/optionSchemas.ts";
import {
  type PersistenceStorageProvider,
  providerSchema,
  offersLog,
} from "../../storage/PersistenceStorageProvider.ts";
import type { BlobStore } from "../../storage/BlobStore.ts";
import type { OwnedLog, RecordLog } from "../../storage/RecordLog.ts";

/**
 * Wraps a storage so that it stops after a number of saves, as if the process crashed. Earlier saves are kept. Every
 * later save or deletion rejects, and another process can take over the agent. A save is one durable write: an append
 * to a log, or a `saveCheckpoint` call of a three-method provider. Pass the original provider to the agent that resumes.
 *
 * @param saves - the number of successful saves over all agents, at least 0.
 *
 * @example
 * ```ts
 * const storage = new InMemoryPersistenceStorageProvider();
 * const agentOn = (storage: PersistenceStorageProvider) =>
 *   new AIAgent({ promptExecutor, llmModel: "m" }).install(Persistence, { storage });
 * await agentOn(crashAfter(storage, 3)).run("hello").catch(() => undefined);
 * await agentOn(storage).resume();
 * ```
 */
export function crashAfter(storage: PersistenceStorageProvider, saves: number): PersistenceStorageProvider {
  checkSchema(providerSchema, storage, "storage of crashAfter");
  checkSchema(integerFrom(0), saves, "number of saves of crashAfter");
  let left = saves;
  const save: Save = async (write, count = 1) => {
    if (left === 0) throw new SimulatedCrashError(saves);
    left -= count;
    return write();
  };
  if (offersLog(storage)) {
    return new LogPersistenceStorageProvider(crashingLog(storage.log, save), {
      inlineThresholdBytes: storage.inlineThresholdBytes,
      compressThresholdBytes: storage.compressThresholdBytes,
    });
  }
  return {
    getCheckpoints: (agentId) => storage.getCheckpoints(agentId),
    getLatestCheckpoint: (agentId) => storage.getLatestCheckpoint(agentId),
    saveCheckpoint: (agentId, checkpoint) => save(() => storage.saveCheckpoint(agentId, checkpoint)),
  };
}

/** @param count - the number of saves that the write counts as. Defaults to 1. */
type Save = <Result>(write: () => Promise<Result>, count?: number) => Promise<Result>;

function crashingLog(log: RecordLog, save: Save): RecordLog {
  const receive = log.receive?.bind(log);
  return withMembers(log, {
    blobs: crashingBlobs(log.blobs, save),
    open: async (...given) => crashingOwner(await log.open(...given), save),
    // A received log counts as one save.
    receive: receive && (async (...given) => crashingOwner(await save(() => receive(...given)), save)),
    // Without this method, the library saves each agent separately.
    createMany: undefined,
  });
}

/** A blob does not count as a save, because the append that refers to it does. */
function crashingBlobs(blobs: BlobStore, save: Save): BlobStore {
  const [copy, putNamed] = [blobs.copy?.bind(blobs), blobs.putNamed?.bind(blobs)];
  return withMembers(blobs, {
    put: (...given) => save(() => blobs.put(...given), 0),
    delete: (...given) => save(() => blobs.delete(...given), 0),
    copy: copy && ((...given) => save(() => copy(...given), 0)),
    putNamed: putNamed && ((...given) => save(() => putNamed(...given), 0)),
  });
}

function crashingOwner(owned: OwnedLog, save: Save): OwnedLog {
  return withMembers(owned, {
    append: (...given) => save(() => owned.append(...given)),
    prune: () => save(() => owned.prune()),
    drop: () => save(() => owned.drop(), 0),
  });
}

type Members<Target> = { readonly [Name in keyof Target]?: Target[Name] | undefined };

/** Returns an object with other members in place of some members of `target`. */
function withMembers<Target extends object>(target: Target, members: Members<Target>): Target {
  const get = (_proxied: object, name: string | symbol): unknown => {
    const member: unknown = Reflect.get(Object.hasOwn(members, name) ? members : target, name);
    return typeof member === "function" ? (member.bind(target) as unknown) : member;
  };
  return new Proxy<Target>(Object.create(target) as Target, { get });
}
