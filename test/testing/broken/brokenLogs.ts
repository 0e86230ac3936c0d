import { PositionConflictError } from "../../../src/errors/storageErrors.ts";
import type { RecordLog } from "../../../src/storage/RecordLog.ts";
import type { RecordLogHarness } from "../../../src/testing.ts";
import {
  changed,
  filtered,
  handingOutItsOwn,
  keep,
  keepingStops,
  listing,
  omittingWhatIsWritten,
  owning,
  pruningAnything,
  readingEntries,
  readingWith,
  startingAnew,
  storingWhatItRefuses,
  withTwoOwners,
  writeAnyhow,
} from "../conformance/alteredLogs.ts";

import { inDatabase } from "../conformance/logsUnderTest.ts";

/** A log with one mistake, and the test that must find it. */
export interface BrokenLog {
  readonly mistake: string;
  readonly caughtBy: string;
  /** A log alone is tested as one in memory. */
  readonly make: () => RecordLog | RecordLogHarness;
}

/** Mistakes that people make when they write a backend. */
export const brokenLogs: readonly BrokenLog[] = [
  {
    mistake: "accepts a stale position",
    caughtBy: "rejects an append that expects another position, and does not store it",
    make: () => owning((owned) => ({ append: (entry) => owned.append(entry, owned.position) })),
  },
  {
    mistake: "refuses a stale position, and stores the append",
    caughtBy: "rejects an append that expects another position, and does not store it",
    make: () => owning(storingWhatItRefuses),
  },
  {
    mistake: "has two owners",
    caughtBy: "refuses a second owner while the first is alive, and reports the first",
    make: withTwoOwners,
  },
  {
    mistake: "names the wrong owner",
    caughtBy: "opens an empty log at position 0 and reports its owner",
    make: () => changed((log) => ({ owner: async (agentId) => keep(await log.owner(agentId), { nonce: "another" }) })),
  },
  {
    mistake: "goes on writing for an owner that has released",
    caughtBy: "rejects appends of an owner after its release",
    make: () =>
      owning((owned, log, agentId) => ({
        append: (entry, at) => owned.append(entry, at).catch(() => writeAnyhow(log, agentId, entry)),
      })),
  },
  {
    mistake: "gives every owner the same generation",
    caughtBy: "gives each owner a higher generation and the last position of the previous owner",
    make: () => owning(() => ({ generation: 1 })),
  },
  {
    mistake: "forgets with its process",
    caughtBy: "gives each owner a higher generation and the last position of the previous owner",
    make: () => ({ ...inDatabase(), reopen: () => inDatabase().log }),
  },
  {
    mistake: "leaves gaps between positions",
    caughtBy: "numbers appends from 1 without gaps",
    make: () =>
      owning((owned) => ({
        append: (entry, at) =>
          owned.append({ id: `gap before ${entry.id}`, records: [] }, at).then((next) => owned.append(entry, next)),
      })),
  },
  {
    mistake: "does not acknowledge the same append again",
    caughtBy: "stores an append once if it is repeated with the same id at the same position",
    make: () =>
      owning((owned) => ({
        append: (entry, at) =>
          at === owned.position
            ? owned.append(entry, at)
            : Promise.reject(new PositionConflictError("a", at, owned.position)),
      })),
  },
  {
    mistake: "acknowledges any append at a position that is taken",
    caughtBy: "stores an append once if it is repeated with the same id at the same position",
    make: () =>
      owning((owned) => ({ append: async (entry, at) => (at < owned.position ? at + 1 : owned.append(entry, at)) })),
  },
  {
    mistake: "does not link appends",
    caughtBy: "links each append to the previous one, even across owners",
    make: () => readingEntries((entry) => ({ ...entry, prev: "" })),
  },
  {
    mistake: "gives appends ids of its own",
    caughtBy: "keeps ids unchanged",
    make: () => readingEntries((entry) => ({ ...entry, id: `${entry.generation}-${entry.position}` })),
  },
  {
    mistake: "drops appends without records",
    caughtBy: "keeps all records of an append in order",
    make: () =>
      changed((log) => ({
        read: (agentId, options) => filtered(log.read(agentId, options), ({ records }) => records.length > 0),
      })),
  },
  {
    mistake: "reads its records after the caller has gone on",
    caughtBy: "stores the original entry if the caller changes it during the append",
    make: () => owning((owned) => ({ append: (entry, at) => Promise.resolve().then(() => owned.append(entry, at)) })),
  },
  {
    mistake: "hands out its own records",
    caughtBy: "keeps stored entries when a reader changes its copy",
    make: handingOutItsOwn,
  },
  {
    mistake: "reads up to a position without it",
    caughtBy: "reads the entries after one position and up to another",
    make: () => readingWith(({ upTo, ...rest }) => ({ ...rest, ...(upTo !== undefined && { upTo: upTo - 1 }) })),
  },
  {
    mistake: "ignores the mark of a snapshot",
    caughtBy: "starts at the newest snapshot if requested",
    make: () => owning((owned) => ({ append: (entry, at) => owned.append({ ...entry, snapshot: false }, at) })),
  },
  {
    mistake: "begins at a snapshot though not asked to",
    caughtBy: "reads the entries after one position and up to another",
    make: () => readingWith((options) => ({ ...options, sinceSnapshot: true })),
  },
  {
    mistake: "keeps the position that the caller put into a summary",
    caughtBy: "lists a summary unchanged with the position of its append",
    make: () => listing((all) => all.map((summary) => ({ ...summary, position: 77 }))),
  },
  {
    mistake: "sorts the list by agent id",
    caughtBy: "sorts by the UTF-8 bytes of order",
    make: () => listing((all) => all.toSorted((a, b) => (a.agentId < b.agentId ? -1 : 1))),
  },
  {
    mistake: "ignores the limit of a list",
    caughtBy: "lists by status, after an order, and up to a limit",
    make: () => changed((log) => ({ list: ({ limit: _limit, ...options } = {}) => log.list(options) })),
  },
  {
    mistake: "lists agents that have an owner as free",
    caughtBy: "filters by several statuses, free agents, due time and age",
    make: () => changed((log) => ({ list: ({ free: _free, ...options } = {}) => log.list(options) })),
  },
  {
    mistake: "lists agents that are not due",
    caughtBy: "filters by several statuses, free agents, due time and age",
    make: () => changed((log) => ({ list: ({ dueBefore: _dueBefore, ...options } = {}) => log.list(options) })),
  },
  {
    mistake: "lists agents that changed lately",
    caughtBy: "filters by several statuses, free agents, due time and age",
    make: () => changed((log) => ({ list: ({ updatedBefore: _updatedBefore, ...options } = {}) => log.list(options) })),
  },
  {
    mistake: "leaves an agent out of a list while its summary is written",
    caughtBy: "never omits an agent while its summary is rewritten",
    make: omittingWhatIsWritten,
  },
  {
    mistake: "lets no timer fire between its appends",
    caughtBy: "yields to the event loop during each append",
    make: () =>
      owning((owned) => ({
        append: async (entry, at) => {
          owned.append(entry, at).catch(() => {});
          return at + 1;
        },
      })),
  },
  {
    mistake: "never tells an owner to stop",
    caughtBy: "reports a stop request to the owner, which may still append",
    make: () => changed(() => ({ requestStop: async () => {} })),
  },
  {
    mistake: "keeps a request to stop for the next owner",
    caughtBy: "does not stop the next owner after a stop request to the previous owner",
    make: keepingStops,
  },
  {
    mistake: "tells nobody who watches",
    caughtBy: "reports a release to each watcher until it is closed",
    make: () => changed(() => ({ watch: async () => ({ close: async () => {} }) })),
  },
  {
    mistake: "goes on telling who no longer watches",
    caughtBy: "reports a release to each watcher until it is closed",
    make: () =>
      changed((log) => ({
        watch: async (onChange) => {
          await log.watch?.(onChange);
          return { close: async () => {} };
        },
      })),
  },
  {
    mistake: "answers after it was closed",
    caughtBy: "rejects every call after close",
    make: () => changed(() => ({ close: async () => {} })),
  },
  {
    mistake: "keeps blobs without their agent",
    caughtBy: "returns a blob only to its agent",
    make: () =>
      changed(({ blobs }) => ({
        blobs: {
          put: (_agentId, generation, bytes) => blobs.put("all", generation, bytes),
          get: (_agentId, reference) => blobs.get("all", reference),
          delete: (_agentId, reference) => blobs.delete("all", reference),
        },
      })),
  },
  {
    mistake: "throws for a reference that is none",
    caughtBy: "finds no blob for an unknown or malformed reference",
    make: () =>
      changed(({ blobs }) => ({
        blobs: {
          put: blobs.put.bind(blobs),
          delete: blobs.delete.bind(blobs),
          get: async (agentId, reference) =>
            URL.canParse(reference) ? blobs.get(agentId, reference) : JSON.parse(reference),
        },
      })),
  },
  {
    mistake: "shares one blob among owners",
    caughtBy: "returns the same reference for equal bytes of one owner, and another one for the next owner",
    make: () =>
      changed(({ blobs }) => ({
        blobs: {
          put: (agentId, _generation, bytes) => blobs.put(agentId, 1, bytes),
          get: blobs.get.bind(blobs),
          delete: blobs.delete.bind(blobs),
        },
      })),
  },
  {
    mistake: "prunes whatever it is told",
    caughtBy: "prunes only the positions that a stored record names",
    make: pruningAnything,
  },
  {
    mistake: "forgets the position of an agent that was removed",
    caughtBy: "continues positions and generations when the id of a removed agent is used again",
    make: startingAnew,
  },
  {
    mistake: "leaves a removed agent in the list",
    caughtBy: "removes an agent with all its data and keeps other agents",
    make: () => owning((owned) => ({ drop: () => owned.release() })),
  },
  {
    mistake: "takes agent ids without regard to case",
    caughtBy: "separates agents with ids that differ in case only",
    make: () =>
      changed((log) => ({
        open: (agentId, owner) => log.open(agentId.toLowerCase(), owner),
        read: (agentId, options) => log.read(agentId.toLowerCase(), options),
      })),
  },
];
