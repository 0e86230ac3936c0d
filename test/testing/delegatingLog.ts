import type { OwnedLog, RecordLog } from "../../src/storage/RecordLog.ts";

/** Members of a log that do something else. */
export type LogChanges = Partial<RecordLog>;
export type OwnedChanges = Partial<Omit<OwnedLog, "position">>;

/** A log that does as another does, but for the changes. */
export function delegatingLog(
  log: RecordLog,
  changes: LogChanges,
  changesOf: (owned: OwnedLog, agentId: string) => OwnedChanges = () => ({}),
): RecordLog {
  return {
    version: log.version,
    capabilities: log.capabilities,
    blobs: log.blobs,
    open: async (agentId, owner) => {
      const owned = await log.open(agentId, owner);
      return delegatingOwner(owned, changesOf(owned, agentId));
    },
    read: (agentId, options) => log.read(agentId, options),
    list: (options) => log.list(options),
    owner: (agentId) => log.owner(agentId),
    ...(log.unremovedBytes && { unremovedBytes: log.unremovedBytes.bind(log) }),
    ...(log.watch && { watch: log.watch.bind(log) }),
    ...(log.encodedAppends && { encodedAppends: log.encodedAppends.bind(log) }),
    ...(log.receive && {
      receive: async (agentId, ...received) => {
        const owned = await log.receive?.(agentId, ...received);
        if (!owned) throw new TypeError("the log receives nothing");
        return delegatingOwner(owned, changesOf(owned, agentId));
      },
    }),
    requestStop: (agentId, reason) => log.requestStop(agentId, reason),
    close: () => log.close(),
    ...changes,
  };
}

/** A log owned that does as another does, but for the changes. */
export function delegatingOwner(owned: OwnedLog, changes: OwnedChanges): OwnedLog {
  return {
    get position() {
      return owned.position;
    },
    generation: owned.generation,
    lost: owned.lost,
    append: (entry, expectedPosition) => owned.append(entry, expectedPosition),
    ...(owned.checkStop && { checkStop: owned.checkStop.bind(owned) }),
    prune: () => owned.prune(),
    drop: () => owned.drop(),
    release: () => owned.release(),
    ...changes,
  };
}
