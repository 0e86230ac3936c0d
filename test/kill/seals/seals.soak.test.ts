import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { verifySeals } from "agent-persistence/seals";
import { expect, it } from "vitest";
import { cases, wholeSoak } from "../../soak/cases.ts";
import { sharedEngines } from "../../storage/engines/engines.ts";
import { storageAt, type StoragePlace } from "../../storage/engines/storageAt.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { testSeed as seed } from "../../testSeed.ts";
import { killableProgram } from "../everyCall/killableProgram.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";
import { sealedStorage } from "./sealedAgent.ts";

const kills = cases(2, 100);
const engines = sharedEngines.filter(({ name }) => name !== "in DynamoDB" && (wholeSoak || name !== "in Postgres"));
const start = killableProgram("seals/sealingWorker.ts");

async function changes(place: StoragePlace, directory: string): Promise<readonly unknown[]> {
  const storage = sealedStorage(await storageAt(place), directory);
  const found = await collect(verifySeals(storage));
  await storage.log.close();
  return found.flatMap(({ agentId, changes: changed, error }) =>
    error ? [[agentId, error.code]] : changed.map(({ kind, position }) => [agentId, kind, position]),
  );
}

it.each(engines)(
  "a sealed agent killed at any moment is never reported as changed $name",
  async ({ place: newPlace }) => {
    const live = async (killBefore: number) => {
      const [place, directory] = [await newPlace(), await temporaryDirectory()];
      await mkdir(join(directory, "seals"));
      const told = { killBefore, place, directory };
      const first = await start(directory, killBefore, JSON.stringify(place));
      if (first.killed) {
        expect({ ...told, changes: await changes(place, directory) }).toEqual({ ...told, changes: [] });
        const second = await start(directory, 0, JSON.stringify(place));
        expect({ ...told, said: second.said }).toEqual({ ...told, said: "completed" });
      }
      expect({ ...told, changes: await changes(place, directory) }).toEqual({ ...told, changes: [] });
      const lines = (await readFile(join(directory, "ledger"), "utf8")).trim().split("\n");
      const rooms = [...new Set(lines)].map((line) => line.split(" ")[0]);
      expect({ ...told, rooms }).toEqual({
        ...told,
        rooms: ["a", "b", "c"].flatMap((name) => [1, 2, 3, 4].map((at) => `${name}${at}`)),
      });
      await rm(directory, { recursive: true });
      return first;
    };
    const { calls, said } = await live(0);
    expect(said).toBe("completed");
    const stride = Math.max(1, Math.floor(calls / kills));
    let killed = 0;
    for (let at = 1 + (seed % stride); at <= calls; at += stride) if ((await live(at)).killed) killed++;
    console.log(`Killed ${killed} times in ${calls} calls.`);
    expect(killed).toBeGreaterThanOrEqual(1);
  },
);
