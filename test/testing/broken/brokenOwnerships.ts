import type { BrokenLog } from "./brokenLogs.ts";
import { checksumOf, Database } from "../database/Database.ts";
import { inDatabase } from "../conformance/logsUnderTest.ts";
import {
  everyInstance,
  everyOwner,
  keepingStops,
  keyedBy,
  passingOn,
  skippingDamage,
  startingOver,
  stoppingWhoLooks,
  trustingAnyone,
} from "../conformance/mistakenLogs.ts";

const silent = "gives a silent owner's agent to another owner with a higher generation";
const replaced = "rejects appends of a replaced owner and aborts its signal";
const removed = "removes no data for a replaced owner";
const lostAnswer = "stores an append once if its response was lost, and ends the ownership if the append failed";
const looks = "reports a stop request of any process when the owner checks for it";
const altered = "rejects a read if a byte of append 4 of 8 was altered";
const pruned = "removes the bytes of pruned appends, even if an earlier prune did not run";

/** Mistakes about owners that sleep, answers that are lost, bytes that change and ids that are odd. */
export const brokenOwnerships: readonly BrokenLog[] = [
  {
    mistake: "stores an append whatever the generation of its owner",
    caughtBy: replaced,
    make: () => trustingAnyone("insert"),
  },
  {
    mistake: "does not tell an owner that it was replaced",
    caughtBy: replaced,
    make: () => everyOwner(() => ({ lost: new AbortController().signal })),
  },
  {
    mistake: "calls it a conflict of positions when an owner was replaced",
    caughtBy: replaced,
    make: () =>
      everyOwner((owned) => ({
        append: (entry, at) =>
          owned.append(entry, at).catch((cause: unknown) => {
            throw Object.assign(new Error("conflict", { cause }), { code: "position_conflict" });
          }),
      })),
  },
  {
    mistake: "frees the next owner when one that was replaced releases",
    caughtBy: "keeps the next owner when a replaced owner releases",
    make: () => trustingAnyone("free"),
  },
  { mistake: "prunes for an owner that was replaced", caughtBy: removed, make: () => trustingAnyone("removePruned") },
  { mistake: "drops for an owner that was replaced", caughtBy: removed, make: () => trustingAnyone("remove") },
  {
    mistake: "never takes over an owner",
    caughtBy: silent,
    make: () => inDatabase(() => ({ isFree: ({ owner }) => owner === undefined })),
  },
  {
    mistake: "says of every owner that it is alive",
    caughtBy: silent,
    make: () =>
      everyInstance((log) => ({
        owner: async (agentId) => {
          const owner = await log.owner(agentId);
          return owner && { ...owner, state: "alive" };
        },
      })),
  },
  {
    mistake: "takes over owners that live, as none renews",
    caughtBy: "refuses another owner while the owner renews, even after a long time",
    make: () => inDatabase(() => ({ renew: () => true })),
  },
  {
    mistake: "lets everyone own at any time",
    caughtBy: "shows the owner to a second process",
    make: () => inDatabase(() => ({ isFree: () => true })),
  },
  {
    mistake: "tells an owner nothing that looks whether it is to stop",
    caughtBy: looks,
    make: () => everyOwner(() => ({ checkStop: async () => {} })),
  },
  { mistake: "stops an owner that looks, though nobody asked", caughtBy: looks, make: stoppingWhoLooks },
  {
    mistake: "keeps the stop that an owner was asked for until it is released, for the next one that looks",
    caughtBy: looks,
    make: keepingStops,
  },
  {
    mistake: "lets an append through as its driver fails it",
    caughtBy: lostAnswer,
    make: () => everyOwner((owned) => ({ append: (entry, at) => passingOn(() => owned.append(entry, at)) })),
  },
  {
    mistake: "forgets that an append failed",
    caughtBy: lostAnswer,
    make: () => startingOver((_owned, _entry, error) => Promise.reject(error as Error)),
  },
  {
    mistake: "stores an append again whose answer was lost",
    caughtBy: lostAnswer,
    make: () => startingOver((owned, entry) => owned.append({ ...entry, id: `${entry.id} again` }, owned.position)),
  },
  {
    mistake: "takes its own lost append for that of another",
    caughtBy: lostAnswer,
    make: () => startingOver((owned, entry) => owned.append(entry, 0)),
  },
  {
    mistake: "lets an open through as its driver fails it",
    caughtBy: "can be opened again if the response of an open was lost",
    make: () => everyInstance((log) => ({ open: (agentId, owner) => passingOn(() => log.open(agentId, owner)) })),
  },
  {
    mistake: "lets a blob through as its driver fails it",
    caughtBy: "keeps a blob if the response of its put was lost, or rejects the put",
    make: () =>
      everyInstance(({ blobs }) => ({
        blobs: {
          put: (...blob) => passingOn(() => blobs.put(...blob)),
          get: blobs.get.bind(blobs),
          delete: blobs.delete.bind(blobs),
        },
      })),
  },
  {
    mistake: "does not verify the appends it reads",
    caughtBy: altered,
    make: () => inDatabase(() => ({ isIntact: () => true })),
  },
  { mistake: "leaves out the appends that it cannot verify", caughtBy: altered, make: skippingDamage },
  {
    mistake: "does not verify the first append",
    caughtBy: "rejects a read if a byte of append 1 of 8 was altered",
    make: () => inDatabase(() => ({ isIntact: (row) => row.position === 1 || checksumOf(row) === row.checksum })),
  },
  {
    mistake: "takes an altered last append for one that was never whole",
    caughtBy: "rejects a read if a byte of append 8 of 8 was altered",
    make: skippingDamage,
  },
  {
    mistake: "does not verify the blobs it reads",
    caughtBy: "rejects the read of a blob if one of its bytes was altered",
    make: () => inDatabase(() => ({ isIntactBlob: () => true })),
  },
  {
    mistake: "shows what a stored record has pruned",
    caughtBy: "skips the positions that a stored record names, even before they are removed",
    make: () => inDatabase(() => ({ isPruned: () => false })),
  },
  {
    mistake: "removes nothing when it prunes",
    caughtBy: pruned,
    make: () => everyOwner(() => ({ prune: async () => {} })),
  },
  {
    mistake: "removes nothing that an earlier owner should have removed",
    caughtBy: pruned,
    make: () =>
      everyOwner((owned) => {
        const { position } = owned;
        return { prune: async () => (owned.position === position ? undefined : owned.prune()) };
      }),
  },
  {
    mistake: "does not look at the id of an agent",
    caughtBy: "separates agents with ids that are prefixes of each other",
    make: () => keyedBy(() => "one"),
  },
  {
    mistake: "removes agents by the beginning of their ids",
    caughtBy: "separates agents with ids that are prefixes of each other",
    make: () =>
      inDatabase((database) => ({
        remove: (agentId) => {
          const ids = [...database.agents.keys()].filter((id) => id.startsWith(agentId));
          for (const id of ids) Database.prototype.remove.call(database, id, database.agent(id).generation);
          return true;
        },
      })),
  },
  ...(
    [
      ["cuts agent ids at a NUL", "with spaces and control characters", (id) => id.split("\0")[0] ?? ""],
      ["trims agent ids", "with spaces and control characters", (id) => id.trim()],
      ["normalizes agent ids", "in Unicode", (id) => id.normalize("NFC")],
      ["cuts long agent ids", "that are long", (id) => id.slice(0, 255)],
      ["writes agent ids in ASCII", "in Unicode", (id) => id.replaceAll(/[^ -~]/g, "?")],
      ["takes slashes for folders", "that look like paths", (id) => new URL(pathOf(id), "file:///base/").pathname],
      ["joins with a delimiter that ids may hold", "with delimiters", (id) => id.replaceAll(/[/:|#.,_ %*?]/g, "-")],
    ] satisfies [string, string, (id: string) => string][]
  ).map(([mistake, kind, keyOf]) => ({
    mistake,
    caughtBy: `separates agents with ids ${kind}`,
    make: () => keyedBy(keyOf),
  })),
];

function pathOf(agentId: string): string {
  return agentId.replaceAll("\\", "/").replaceAll("%", "%25");
}
