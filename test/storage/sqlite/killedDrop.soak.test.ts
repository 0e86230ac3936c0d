import { execFile } from "node:child_process";
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
import { every } from "../../soak/cases.ts";

/** A soak kills before each statement; a short run once in the midst, and lets the next drop end. */
const stride = every(5, 1);

let home: string;
let program: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "agent-persistence-sqlite-"));
  program = await bundleWorker(home, "../storage/sqlite/dropUntilKilled.ts");
});

afterAll(() => rm(home, { recursive: true, force: true }));

it("a process killed before any statement of a drop removes no data, and the next owner can drop the agent", async () => {
  let kills = 0;
  for (let at = stride - 1; ; at += stride) {
    const path = join(home, `${at}.db`);
    const [code, signal] = (await once(execFile(process.execPath, [program, path, String(at)]), "close")) as unknown[];
    const database = libsql(path);
    const { log } = new SqlitePersistenceStorageProvider({ database });
    const isKilled = signal === "SIGKILL";
    expect([isKilled, code]).toEqual(isKilled ? [true, null] : [false, 0]);
    expect(await collect(log.read("a"))).toHaveLength(isKilled ? 3 : 0);
    expect(await collect(log.list({ free: true }))).toHaveLength(isKilled ? 1 : 0);
    const owned = await log.open("a", processOwner());
    expect([owned.position, owned.generation]).toEqual([3, 2]);
    await owned.drop();
    const tables = ["appends", "summaries", "blobs"].map((name) => `(SELECT count(*) FROM agent_persistence_${name})`);
    expect(database.prepare(`SELECT ${tables.join(" + ")} AS n`).get()).toMatchObject({ n: 0 });
    await log.close();
    if (!isKilled) break;
    kills++;
  }
  expect(kills).toBeGreaterThan(0);
});
