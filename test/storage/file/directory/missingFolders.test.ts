import { cp, mkdir, readdir, rename, rm, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  agentPath,
  append,
  collect,
  nextOwner,
  summaryOf,
  testDirectory,
  testLog,
  textsOf,
} from "../support/fixture.ts";

const inner = ["blobs", "owners", "tmp"];

async function finishedAgent(): Promise<string> {
  const directory = await testDirectory();
  const owned = await testLog(directory).open("a", nextOwner());
  await append(owned, "one", { summary: summaryOf("a", "completed") });
  await owned.release();
  return directory;
}

it.each([["blobs"], ["owners"], ["tmp"], inner].map((gone) => ({ gone })))(
  "an agent continues without $gone",
  async ({ gone }) => {
    const directory = await finishedAgent();
    for (const name of gone) await rm(join(agentPath(directory, "a"), name), { recursive: true });
    const log = testLog(directory);
    const owned = await log.open("a", nextOwner());
    const reference = await log.blobs.put("a", owned.generation, Buffer.from("value"));
    await append(owned, "two", { summary: summaryOf("a", "in_progress") });
    await owned.prune();
    await owned.release();
    expect(textsOf(await collect(log.read("a")))).toEqual(["one", "two"]);
    expect(await log.blobs.get("a", reference)).toEqual(Buffer.from("value"));
    for (const name of inner) expect((await stat(join(agentPath(directory, "a"), name))).mode & 0o777).toBe(0o700);
  },
);

it("a copy without its empty directories can be read and listed without creating them", async () => {
  const directory = await testDirectory();
  const files = (path: string) => !inner.some((name) => path.endsWith(`/${name}`));
  await cp(await finishedAgent(), directory, { recursive: true, filter: files });
  const log = testLog(directory);
  expect(textsOf(await collect(log.read("a")))).toEqual(["one"]);
  expect(await collect(log.list())).toMatchObject([{ agentId: "a", status: "completed" }]);
  expect((await readdir(agentPath(directory, "a"))).sort()).toEqual(["checkpoints", "state.json"]);
});

it("a list does not read an agent through a link in place of its directory", async () => {
  const directory = await finishedAgent();
  const linked = agentPath(directory, "a");
  const outside = join(await testDirectory(), "outside");
  await rename(linked, outside);
  await symlink(outside, linked);
  expect(await collect(testLog(directory).list())).toMatchObject([{ status: "unreadable" }]);
});

it("an open creates no directory if a link replaces one of them", async () => {
  const directory = await finishedAgent();
  const elsewhere = join(await testDirectory(), "elsewhere");
  await mkdir(elsewhere);
  for (const name of inner) await rm(join(agentPath(directory, "a"), name), { recursive: true });
  await symlink(elsewhere, join(agentPath(directory, "a"), "tmp"));
  const opened = testLog(directory).open("a", nextOwner());
  await expect(opened).rejects.toMatchObject({ code: "storage_failed", reason: "permission" });
  expect(await readdir(elsewhere)).toEqual([]);
  expect((await readdir(agentPath(directory, "a"))).sort()).toEqual(["checkpoints", "state.json", "tmp"]);
});
