import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { live } from "../support/liveThrough.ts";
import { randomRun } from "../support/randomRuns.ts";
import { checkpointsOf, latestOf, recordsOf } from "../support/stored.ts";
import { logStorages, storages, type TestStorage } from "../support/storages.ts";
import { cases } from "../../soak/cases.ts";

const runs = { memory: cases(12, 300), file: cases(4, 30) };
const runsOn = ({ name }: TestStorage) => (name === "file" ? runs.file : runs.memory);

interface JournalRecord {
  readonly kind: string;
  readonly call?: string;
  readonly output?: unknown;
  readonly error?: unknown;
  readonly unknown?: true;
  readonly retry?: true;
}

/** What the journal says of the world: calls that stand, and calls of which it does not know. */
async function journalOf(storage: LogPersistenceStorageProvider) {
  const [stands, unknown] = [new Set<string>(), new Set<string>()];
  for (const record of await recordsOf(storage)) {
    const { kind, call = "", error, ...end } = record as JournalRecord;
    if (kind === "intent" || kind === "inverse" || end.unknown || end.retry) unknown.add(call);
    else if (kind === "outcome" || (kind === "reverted" && error === undefined)) unknown.delete(call);
    if (kind === "outcome" && "output" in end) stands.add(call);
    if (kind === "reverted" && error === undefined) stands.delete(call);
  }
  return { stands, unknown };
}

describe.each(logStorages)("$name: any run with random crashes and rollbacks", (storage) => {
  it("leaves effects that match the journal, and every node receives the stored state", async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, async (run) => {
        const opened = await storage.open();
        const { world, differences } = await live(run, opened);
        const { stands, unknown } = await journalOf(opened() as LogPersistenceStorageProvider);
        const standing = [...world.effects.keys()];
        expect(standing.filter((id) => !stands.has(id) && !unknown.has(id))).toEqual([]);
        expect([...stands].filter((id) => !world.effects.has(id) && !unknown.has(id))).toEqual([]);
        expect(world.undone.filter((id, at) => world.undone.indexOf(id) !== at)).toEqual([]);
        expect(differences).toEqual([]);
      }),
      { numRuns: runsOn(storage) },
    );
  });
});

describe.each(storages)("$name: any run with random crashes and rollbacks", (storage) => {
  it("ends with one recorded result and only increasing versions", async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, async (run) => {
        const opened = await storage.open();
        const random = await live(run, opened);
        const agent = random.agent(opened());
        const latest = await latestOf(agent);
        expect(await agent.resume()).toMatchObject({ output: latest.lastInput });
        const versions = (await checkpointsOf(agent)).map(({ version }) => version);
        expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
        expect(random.differences).toEqual([]);
      }),
      { numRuns: Math.ceil(runsOn(storage) / 2) },
    );
  });
});
