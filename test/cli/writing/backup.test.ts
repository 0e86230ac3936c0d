import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Desk, deskModule } from "../support/Desk.ts";
import { documentOf, itemsOf } from "../support/TestTerminal.ts";

it("a storage is backed up and restored, and its agents run after a takeover", async () => {
  await using desk = await Desk.open();
  await desk.waits("order-1");
  const [folder, target] = [join(desk.folder, "backup"), ["--storage", `file:${join(desk.folder, "restored")}`]];
  expect(await desk.command(["backup", folder])).toMatchObject({
    code: 0,
    out: `Backed up into ${folder}: 1 log written, 0 unchanged, 0 deleted.\n`,
  });
  expect(documentOf(await desk.command(["backup", folder, "--json"]))).toMatchObject({ unchanged: ["order-1"] });
  expect(await desk.command(["restore", folder, ...target])).toMatchObject({ code: 4, out: "" });
  expect(documentOf(await desk.command(["restore", folder, "--yes", "--json", ...target]))).toMatchObject({
    restored: ["order-1"],
    existing: [],
    failed: [],
  });
  expect(itemsOf(await desk.command(["list", "--json", ...target]))).toMatchObject([
    { agentId: "order-1", status: "copied" },
  ]);
  expect(documentOf(await desk.command(["mark-restored", "--yes", "--json"]))).toEqual({
    marked: ["order-1"],
    failed: [],
  });
  const resume = ["resume", "order-1", "--agent", `${deskModule}#desk`, "--yes"];
  expect((await desk.command(resume)).err).toContain("is a copy");
  expect(await desk.command([...resume, "--take-over"])).toMatchObject({ code: 0 });
});

it("exits with the reason of a failure, such as a missing key, a changed archive or a busy agent", async () => {
  await using desk = await Desk.open();
  await desk.waits("order-1");
  const folder = join(desk.folder, "backup");
  const keys = join(desk.folder, "keys.mjs");
  await writeFile(keys, "export default { current: 'k', get: () => new Uint8Array(32) };");
  await desk.command(["backup", folder, "--archive-keys", keys]);
  const target = ["--storage", `file:${join(desk.folder, "restored")}`];
  const restored = await desk.command(["restore", folder, "--yes", ...target]);
  expect(restored).toMatchObject({ code: 1, err: expect.stringContaining("order-1 failed") });
  const [name = ""] = await readdir(join(folder, "logs"));
  const bytes = await readFile(join(folder, "logs", name));
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  await writeFile(join(folder, "logs", name), bytes);
  const changed = await desk.command(["restore", folder, "--yes", "--archive-keys", keys, ...target]);
  expect(changed).toMatchObject({ code: 6, err: expect.stringContaining("order-1 failed") });
  const owned = await desk.storage.log.open("order-1", { host: "h", processId: 1, nonce: "n" });
  expect(await desk.command(["mark-restored", "--yes"])).toMatchObject({ code: 5 });
  await owned.release();
});

it("a damaged archive is named, with the exit code for damage", async () => {
  await using desk = await Desk.open();
  await desk.waits("order-1");
  const folder = join(desk.folder, "backup");
  await desk.command(["backup", folder]);
  const [name = ""] = await readdir(join(folder, "logs"));
  const bytes = await readFile(join(folder, "logs", name));
  await writeFile(join(folder, "logs", name), bytes.subarray(0, -10));
  const target = ["--storage", `file:${join(desk.folder, "restored")}`];
  const restored = await desk.command(["restore", folder, "--yes", ...target]);
  expect(restored).toMatchObject({ code: 6, err: expect.stringContaining("order-1 failed: The archive") });
});
