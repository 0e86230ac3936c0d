import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { BackupFolder } from "../../src/backup/BackupFolder.ts";
import { utf8 } from "../../src/internal/bytes.ts";
import { bytesUnder } from "../encryption/storedBytes.ts";
import { testDirectory } from "../storage/file/support/fixture.ts";

async function* archive(text: string): AsyncGenerator<Uint8Array> {
  const header = { agentId: "a", position: 1, generation: 1 };
  yield utf8(`${JSON.stringify(header)}\n${text}`);
}

it("keeps the newer archive when a backup that lost its lock continues", async () => {
  const directory = join(await testDirectory(), "backup");
  const [suspended, next] = [new BackupFolder(directory), new BackupFolder(directory)];
  await (await suspended.begin()).release();
  const lock = await next.begin();
  await next.store("a", archive("newer"));
  const { archives } = await next.read();
  const file = archives.get("a")?.file ?? "";
  const lost = { code: "ownership_lost" };
  await expect(suspended.store("a", archive("older"))).rejects.toMatchObject(lost);
  await expect(suspended.remove(file)).rejects.toMatchObject(lost);
  await lock.release();
  await expect(suspended.store("a", archive("older"))).rejects.toMatchObject(lost);
  expect(await readFile(file, "utf8")).toContain("newer");
  expect((await bytesUnder(directory)).toString()).not.toContain("older");
});
