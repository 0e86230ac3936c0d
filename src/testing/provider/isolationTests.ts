import { changeDeeply } from "../support/changeDeeply.ts";
import { exampleCheckpoint } from "./exampleCheckpoint.ts";
import { fullCheckpoints } from "./fullCheckpoints.ts";
import { providerTest, type ProviderTest } from "./providerTest.ts";

/** That no caller holds an object that is stored. */
export const isolationTests: readonly ProviderTest[] = [
  providerTest("keeps what was saved when the caller changes its object later", async (storage, expect) => {
    for (const data of fullCheckpoints("a")) {
      const handed = structuredClone(data);
      const saving = storage.hand(handed);
      // While it is being saved: what counts is what was given.
      changeDeeply(handed);
      await saving;
    }
    await storage.expectStored("a", fullCheckpoints("a"), expect);
  }),

  providerTest("does not change what it is given", async (storage, expect) => {
    for (const data of fullCheckpoints("a")) {
      const handed = structuredClone(data);
      await storage.hand(handed);
      expect.equal(`the object given to saveCheckpoint (version ${data.version})`, handed, data);
    }
  }),

  providerTest("keeps what is stored when a reader changes what getCheckpoints gave", async (storage, expect) => {
    await storage.saveAll(fullCheckpoints("a"));
    changeDeeply(await storage.all("a"));
    await storage.expectStored("a", fullCheckpoints("a"), expect);
    await storage.reopen();
    await storage.expectStored("a", fullCheckpoints("a"), expect);
  }),

  providerTest("keeps what is stored when a reader changes what getLatestCheckpoint gave", async (storage, expect) => {
    await storage.saveAll(fullCheckpoints("a"));
    changeDeeply(await storage.latest("a"));
    await storage.expectStored("a", fullCheckpoints("a"), expect);
  }),

  providerTest("gives a picture of the moment: what was read does not grow", async (storage, expect) => {
    await storage.save(exampleCheckpoint("a", 1));
    const before = await storage.all("a");
    await storage.save(exampleCheckpoint("a", 2));
    expect.equal("the number of checkpoints read before the second was saved", before.length, 1);
  }),
];
