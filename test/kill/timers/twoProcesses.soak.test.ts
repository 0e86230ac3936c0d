import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { enginesOfProcesses } from "../../storage/engines/enginesOfProcesses.ts";
import { storageAt, type StoragePlace } from "../../storage/engines/storageAt.ts";
import { bundleWorker } from "../bundleWorker.ts";
import { temporaryDirectory } from "../temporaryDirectory.ts";

const start = Date.UTC(2026, 0, 1);
const [hour, day] = [3_600_000, 86_400_000];

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "timers/sleepingWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** What a process says, whose clock starts at a time. */
async function said(place: StoragePlace, at: number): Promise<unknown> {
  const text = await new Promise<string>((resolve) =>
    execFile(process.execPath, [program, JSON.stringify({ place, at })], (_killed, stdout, errors) =>
      resolve(stdout || JSON.stringify({ errors })),
    ),
  );
  return (JSON.parse(text) as { readonly said?: unknown }).said ?? text;
}

describe("a sleep", () => {
  it.each(enginesOfProcesses)(
    "of a killed process ends once, in one of two others, whatever their clocks say, $name",
    async ({ place: makePlace }) => {
      const place = await makePlace();
      expect(await said(place, start)).toBe("waiting");
      expect(await said(place, start - day)).toBe("waiting");
      expect(await said(place, start + hour - 1)).toBe("waiting");
      const both = [start + hour, start + day];
      const ends = await Promise.all(both.map((at) => said(place, at)));
      // Only one of them owns the agent. A busy machine can miss the renewal of a lease.
      expect(ends.filter((end) => !["go rested", "agent_busy", "ownership_lost"].includes(String(end)))).toEqual([]);
      // The owner before may have been killed before it released the agent.
      await expect.poll(() => said(place, start - day)).toBe("go rested");
      const { log } = await storageAt(place);
      const kinds: string[] = [];
      for await (const { records } of log.read("a")) kinds.push(...records.map(({ kind }) => kind));
      expect(kinds.filter((kind) => kind === "request" || kind === "reply")).toEqual(["request", "reply"]);
      await log.close();
    },
  );
});
