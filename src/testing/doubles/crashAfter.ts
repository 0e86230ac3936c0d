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
import type { LogAppend, LogOwner, OwnedLog, RecordLog } from "../../storage/RecordLog.ts";

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
  return {
    version: log.version,
    capabilities: log.capabilities,
    blobs: crashingBlobs(log.blobs, save),
    open: async (agentId: string, owner: LogOwner) => crashingOwner(await log.open(agentId, owner), save),
    read: (agentId, options) => log.read(agentId, options),
    list: (options) => log.list(options),
    owner: (agentId) => log.owner(agentId),
    ...(log.unremovedBytes && { unremovedBytes: log.unremovedBytes.bind(log) }),
    ...(log.watch && { watch: log.watch.bind(log) }),
    ...(log.end && { end: log.end.bind(log) }),
    ...(log.makeRoom && { makeRoom: log.makeRoom.bind(log) }),
    ...(log.encodedAppends && { encodedAppends: log.encodedAppends.bind(log) }),
    ...(log.receive && { receive: receiving(log.receive.bind(log), save) }),
    requestStop: (agentId, reason) => log.requestStop(agentId, reason),
    close: () => log.close(),
  };
}

/** A blob does not count as a save, because the append that refers to it does. */
function crashingBlobs(blobs: BlobStore, save: Save): BlobStore {
  const [copy, putNamed] = [blobs.copy?.bind(blobs), blobs.putNamed?.bind(blobs)];
  return {
    put: (...given) => save(() => blobs.put(...given), 0),
    get: (...given) => blobs.get(...given),
    delete: (...given) => save(() => blobs.delete(...given), 0),
    ...(copy && { copy: (...given) => save(() => copy(...given), 0) }),
    ...(putNamed && { putNamed: (...given) => save(() => putNamed(...given), 0) }),
    ...(blobs.getNamed && { getNamed: blobs.getNamed.bind(blobs) }),
  };
}

/** Counts a received log as one save. */
function receiving(receive: NonNullable<RecordLog["receive"]>, save: Save): NonNullable<RecordLog["receive"]> {
  return async (...received) => crashingOwner(await save(() => receive(...received)), save);
}

function crashingOwner(owned: OwnedLog, save: Save): OwnedLog {
  return {
    get position() {
      return owned.position;
    },
    get generation() {
      return owned.generation;
    },
    tornTail: owned.tornTail,
    damage: owned.damage,
    rebuilt: owned.rebuilt,
    lost: owned.lost,
    append: (entry: LogAppend, expectedPosition: number) => save(() => owned.append(entry, expectedPosition)),
    ...(owned.checkStop && { checkStop: owned.checkStop.bind(owned) }),
    prune: () => save(() => owned.prune()),
    drop: () => save(() => owned.drop(), 0),
    release: () => owned.release(),
  };
}
