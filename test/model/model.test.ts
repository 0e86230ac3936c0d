import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { SimulatedFileSystem } from "agent-persistence/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RowsProvider } from "../persistence/support/storages.ts";
import { sharedEngines } from "../storage/engines/engines.ts";
import { storageAt } from "../storage/engines/storageAt.ts";
import { testDirectory } from "../storage/file/support/fixture.ts";
import { brokenAgents } from "../powerloss/agent/brokenAgents.ts";
import { agentCommands } from "./agentCommands.ts";
import { realFiles, simulatedFiles, unsynced } from "./Files.ts";
import { FilesHarness } from "./FilesHarness.ts";
import { ModelledAgent, type NextRequest } from "./ModelledAgent.ts";
import { SavesHarness } from "./SavesHarness.ts";
import { Steps } from "./Steps.ts";
import type { StorageHarness } from "./StorageHarness.ts";
import { cases, wholeSoak } from "../soak/cases.ts";

/** The engines that lose no power here: their processes end between two saves. */
const databases = sharedEngines.filter(({ name }) => name !== "in files");

const storages: Readonly<Record<string, { readonly runs: number; readonly make: () => Promise<StorageHarness> }>> = {
  "in memory": { runs: 1_000, make: async () => new SavesHarness(new InMemoryPersistenceStorageProvider()) },
  "of three methods": { runs: 1_000, make: async () => new SavesHarness(new RowsProvider()) },
  "in files on a disk": {
    runs: 300,
    make: async () => {
      const directory = await testDirectory();
      return new FilesHarness(realFiles(directory), directory);
    },
  },
  "in files on a device that loses power": {
    runs: 1_000,
    make: async () => new FilesHarness(simulatedFiles(), "/store"),
  },
  ...Object.fromEntries(
    databases.map(({ name, place, isSlow }) => [
      name,
      { runs: isSlow && !wholeSoak ? 60 : 200, make: async () => new SavesHarness(await storageAt(await place())) },
    ]),
  ),
};

/** Any sequence of commands on a storage, and a run at its end. */
function sequences(make: () => Promise<StorageHarness>) {
  return fc.asyncProperty(agentCommands, async (commands) => {
    const agent = new ModelledAgent(await make());
    await fc.asyncModelRun(() => ({ model: agent.harness, real: agent }), commands);
    await agent.run(1);
  });
}

describe("random sequences of commands", () => {
  it.each(Object.entries(storages))(
    "keep acknowledged data through runs, rollbacks, crashes, failures, power losses, clock jumps and damage, on a storage %s",
    async (_name, { runs, make }) => {
      await fc.assert(sequences(make), { numRuns: cases(Math.ceil(runs / 60), Math.ceil(runs / 5)) });
    },
  );
});

/** How many calls a run makes up to each sync of its log. */
async function syncsOfARun(): Promise<readonly number[]> {
  const fileSystem = new SimulatedFileSystem();
  const harness = new FilesHarness(simulatedFiles(fileSystem), "/store");
  await new Steps().agent(harness.start(), harness.clock).run(2);
  return fileSystem.calls.flatMap(({ operation }, at) => (operation === "fdatasync" ? [at + 1] : []));
}

describe("a rollback that is interrupted before a power loss", () => {
  const nexts: readonly NextRequest[] = ["resume", "rollback", "other rollback"];

  it.each(nexts)("continues, or is refused if its unacknowledged target was lost: %s", async (thenBy) => {
    for (const endAfter of await syncsOfARun()) {
      const agent = new ModelledAgent(new FilesHarness(simulatedFiles(), "/store"));
      await agent.run(2, { endAfter });
      await agent.rollBack(1, { trouble: { endAfter: 0 }, thenBy });
      await agent.losePower(0);
      await agent.run(1);
    }
  });
});

/** Those that few sequences show; every crash of one sequence shows them at once, in the tests of power losses. */
const shownByFew = "inverses not recorded before they begin";

const broken: Readonly<Record<string, () => Promise<StorageHarness>>> = {
  "no sync of data": async () => new FilesHarness(unsynced(simulatedFiles()), "/store"),
  ...Object.fromEntries(
    brokenAgents.flatMap(({ name, variant: { storage } }) =>
      storage && name !== shownByFew
        ? [[name, async () => new SavesHarness(storage(new InMemoryPersistenceStorageProvider()))]]
        : [],
    ),
  ),
};

describe("random sequences of commands on a broken storage", () => {
  it.each(Object.entries(broken))("reveal the mistake: %s", async (_name, make) => {
    const { failed } = await fc.check(sequences(make), { numRuns: 1_000, endOnFailure: true, seed: 1 });
    expect(failed).toBe(true);
  });
});
