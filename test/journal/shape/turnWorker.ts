import { writeSync } from "node:fs";
import { KeptLogs } from "../../../src/journal/shape/KeptLogs.ts";
import { readShape } from "../../../src/journal/shape/readShape.ts";
import { storageAt, type StoragePlace } from "../../storage/engines/storageAt.ts";
import { listShapeOf } from "./listOfTexts.ts";

/**
 * One of two processes that write into one log in turns. Each keeps the log open for an hour, and renews its lease after twenty
 * minutes: only who looks whether another asks gives it back earlier. Prints what it found at its end.
 */
const [place = "", first = ""] = process.argv.slice(2);
const hour = 3_600_000;
const turns = 3;
const shape = listShapeOf("session");

const storage = await storageAt(JSON.parse(place) as StoragePlace, { leaseMs: hour });
await using logs = new KeptLogs(shape, { storage, idleMs: hour, waitMs: 60_000 });

async function namesIn(): Promise<readonly string[]> {
  return (await readShape(shape, { log: storage.log, id: "talk" })).state.names;
}

for (let at = first === "first" ? 0 : 1; at < 2 * turns; at += 2) {
  while ((await namesIn()).length < at) await new Promise((resolve) => setTimeout(resolve, 5));
  const store = { kind: "add", number: at, name: `${at}`, value: null } as const;
  await logs.use("talk", (log) => log.store([store]));
}
while ((await namesIn()).length < 2 * turns) await new Promise((resolve) => setTimeout(resolve, 5));
writeSync(1, JSON.stringify(await namesIn()));
