import { spawnSync } from "node:child_process";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { BackupFolder } from "../../src/backup/BackupFolder.ts";
import { utf8 } from "../../src/internal/bytes.ts";
import { nodeFileSystem } from "../../src/nodejs/nodeFileSystem.ts";
import { bytesUnder } from "../encryption/storedBytes.ts";
import { FileRecordLog } from "../../src/storage/file/FileRecordLog.ts";
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

it("keeps the newer archive when a backup is suspended between its last check and the rename", async () => {
  const directory = join(await testDirectory(), "backup");
  const [suspended, next] = [new BackupFolder(directory), new BackupFolder(directory)];
  const lock = await suspended.begin();
  const checked = vi.spyOn(FileRecordLog.prototype, "owner").mockImplementationOnce(async function (
    this: FileRecordLog,
    ...given
  ) {
    checked.mockRestore();
    const found = await this.owner(...given);
    await lock.release();
    const newer = await next.begin();
    await next.store("a", archive("newer"));
    await newer.release();
    return found;
  });
  onTestFinished(() => checked.mockRestore());
  await expect(suspended.store("a", archive("older"))).rejects.toMatchObject({ code: "ownership_lost" });
  const { archives } = await next.read();
  expect(await readFile(archives.get("a")?.file ?? "", "utf8")).toContain("newer");
  expect((await bytesUnder(directory)).toString()).not.toContain("older");
});

it("refuses a directory whose only file ends with .unfinished, and never removes such a file of a user", async () => {
  const directory = await testDirectory();
  const file = join(directory, "notes.unfinished");
  await writeFile(file, "text");
  await expect(new BackupFolder(directory).begin()).rejects.toMatchObject({ code: "invalid_input" });
  expect(await readFile(file, "utf8")).toBe("text");
  await rm(file);
  await (await new BackupFolder(directory).begin()).release();
  const leftOver = join(directory, "logs", `${"a".repeat(40)}.archive.${crypto.randomUUID()}.unfinished`);
  for (const path of [file, join(directory, "logs", "notes.unfinished"), leftOver]) await writeFile(path, "text");
  await (await new BackupFolder(directory).begin()).release();
  expect(await readdir(directory)).toContain("notes.unfinished");
  expect(await readdir(join(directory, "logs"))).toEqual(["notes.unfinished"]);
});

it("makes the mark of a new backup durable before it creates the directory of the archives", async () => {
  const directory = join(await testDirectory(), "backup");
  const synced: (readonly string[])[] = [];
  const fsyncDir = nodeFileSystem.fsyncDir.bind(nodeFileSystem);
  const spy = vi.spyOn(nodeFileSystem, "fsyncDir").mockImplementation(async (path) => {
    if (path === directory) synced.push(await readdir(directory));
    await fsyncDir(path);
  });
  onTestFinished(() => spy.mockRestore());
  await (await new BackupFolder(directory).begin()).release();
  expect(synced.map((names) => names.toSorted())).toContainEqual(["backup.json", "lock"]);
});

it.runIf(process.platform === "linux")("refuses a directory that cannot be created on its file system", async () => {
  for (const directory of ["/proc/backup", "/proc/self/a/b"])
    await expect(new BackupFolder(directory).begin()).rejects.toMatchObject({ code: "storage_failed" });
});

it.skipIf(process.platform === "win32")("does not wait for a pipe in place of the mark or an archive", async () => {
  const directory = await testDirectory();
  const folder = new BackupFolder(directory);
  const lock = await folder.begin();
  await folder.store("a", archive("text"));
  await lock.release();
  const { archives } = await folder.read();
  const file = archives.get("a")?.file ?? "";
  for (const path of [join(directory, "backup.json"), file]) {
    await rm(path);
    expect(spawnSync("mkfifo", [path]).status).toBe(0);
  }
  await expect(folder.assertBackup()).rejects.toMatchObject({ code: "storage_failed" });
  expect((await folder.read()).damaged).toMatchObject([{ file, error: { code: "storage_failed" } }]);
});
