import { rm } from "node:fs/promises";
import { join } from "node:path";
import { backupStorage, restoreBackup } from "agent-persistence/backup";
import { InvalidInputError } from "agent-persistence/errors";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { expect, it } from "vitest";
import { killableProgram } from "../kill/everyCall/killableProgram.ts";
import { temporaryCopy, temporaryDirectory } from "../kill/temporaryDirectory.ts";
import { cases } from "../soak/cases.ts";
import { finish, waitingPayer } from "../transfer/movedAgents.ts";

const kills = cases(2, 40);
const start = killableProgram("../backup/backupWorker.ts");

it.each(["first", "second"])(
  "a kill during a %s backup leaves each archive as it was or as it becomes, and the next backup completes it",
  async (which) => {
    const source = await temporaryDirectory();
    const storage = new FilePersistenceStorageProvider({ directory: source });
    await waitingPayer(storage, "a");
    const earlier = await temporaryDirectory();
    if (which === "second") await backupStorage(storage, { directory: join(earlier, "backup") });
    await finish(await waitingPayer(storage, "b"), "a");
    const calm = await temporaryCopy(earlier);
    const { said, calls } = await start(join(calm, "backup"), 0, source);
    expect(said).toBe(2);
    const count = Math.min(kills, calls);
    for (let kill = 1; kill <= count; kill++) {
      const [place, target] = [await temporaryCopy(earlier), await temporaryDirectory()];
      const directory = join(place, "backup");
      expect(await start(directory, Math.round((calls * kill) / count), source)).toMatchObject({ killed: true });
      const cut = new FilePersistenceStorageProvider({ directory: join(target, "cut") });
      const known = which === "second" ? ["a"] : [];
      const found = await restoreBackup(cut, { directory }).catch(unlessEmpty);
      expect(found).toMatchObject({ restored: expect.arrayContaining(known), failed: [] });
      const { written, unchanged, failed } = await backupStorage(storage, { directory });
      expect([...written, ...unchanged].toSorted()).toEqual(["a", "b"]);
      expect(failed).toEqual([]);
      const whole = new FilePersistenceStorageProvider({ directory: join(target, "whole") });
      expect((await restoreBackup(whole, { directory })).restored).toHaveLength(2);
      expect(await whole.getLatestCheckpoint("a")).toEqual(await storage.getLatestCheckpoint("a"));
      for (const path of [place, target]) await rm(path, { recursive: true });
    }
    for (const path of [source, earlier, calm]) await rm(path, { recursive: true });
  },
);

/** A first backup that was killed at its start is no backup yet. */
function unlessEmpty(error: unknown): object {
  if (error instanceof InvalidInputError) return { restored: [], failed: [] };
  throw error;
}
