import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqlitePersistenceStorageProvider } from "agent-persistence/sqlite";
import { processOwner } from "agent-persistence/storage";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { collect } from "../file/support/fixture.ts";
import { libsql } from "./libsql.ts";
import { cases } from "../../soak/cases.ts";

const kills = cases(3, 60);

let home: string;
let program: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "agent-persistence-sqlite-"));
  program = await bundleWorker(home, "../storage/sqlite/appendInTurns.ts");
});

afterAll(() => rm(home, { recursive: true, force: true }));

/** A process that appends, and how many appends it has said. */
interface Appender {
  readonly child: ChildProcess;
  readonly said: () => number;
}

it("two processes take turns as owner despite kills, without losing or repeating an append or waiting for a lease", async () => {
  const path = join(home, "agents.db");
  const acknowledged: { readonly position: number; readonly id: string }[] = [];
  let lastAt = Date.now();
  let longestMs = 0;
  const start = (): Appender => {
    let said = 0;
    const child = spawn(process.execPath, [program, path], { stdio: ["ignore", "pipe", "inherit"] });
    let rest = "";
    child.stdout.on("data", (chunk: Buffer) => {
      const lines = (rest + String(chunk)).split("\n");
      rest = lines.pop() ?? "";
      said += lines.length;
      for (const [position = "", id = ""] of lines.map((line) => line.split(" ")))
        acknowledged.push({ position: Number(position), id });
      longestMs = Math.max(longestMs, Date.now() - lastAt);
      lastAt = Date.now();
    });
    return { child, said: () => said };
  };
  const first = start();
  let next = start();
  for (let kill = 0; kill < kills; kill++) {
    await expect.poll(next.said, { interval: 2 }).toBeGreaterThan(7 + (kill % 5));
    next.child.kill("SIGKILL");
    await once(next.child, "close");
    next = start();
  }
  for (const { child } of [first, next]) {
    child.kill("SIGKILL");
    await once(child, "close");
  }
  const { log } = new SqlitePersistenceStorageProvider({ database: libsql(path) });
  const entries = await collect(log.read("a"));
  expect(entries.map(({ position }) => position)).toEqual(entries.map((_, index) => index + 1));
  expect(acknowledged.filter(({ position, id }) => entries[position - 1]?.id !== id)).toEqual([]);
  const [summary] = await collect(log.list());
  expect(entries[(summary?.position ?? 0) - 1]?.id).toBe(summary?.data);
  const generations = entries.map(({ generation }) => generation);
  expect(generations).toEqual(generations.toSorted((a, b) => a - b));
  // A lease lasts 15 seconds.
  expect(longestMs).toBeLessThan(14_000);
  // Whoever was killed last owned it, or had given it back: it is free at once.
  const owned = await log.open("a", processOwner());
  expect(owned.position).toBe(entries.length);
  await log.close();
});
