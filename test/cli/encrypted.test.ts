import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FilePersistenceStorageProvider } from "../../src/file.ts";
import { encrypted } from "../../src/encryption.ts";
import { deskOn } from "./support/desk/desk.mjs";
import { Desk } from "./support/Desk.ts";
import { documentOf, itemsOf } from "./support/TestTerminal.ts";

const moduleOf = (current: string, ...ids: readonly string[]) => `
const key = (id) => new Uint8Array(32).fill(id.length);
export const keys = { current: "${current}", get: (id) => (${JSON.stringify(ids)}.includes(id) ? key(id) : undefined) };`;
const keys = { current: "one", get: (id: string) => new Uint8Array(32).fill(id.length) };

describe("the command line on an encrypted storage", () => {
  it("reads with --keys, and encrypts the data keys with the current key", async () => {
    await using desk = await Desk.open();
    await deskOn(encrypted(desk.storage, { keys })).run("the order", { agentId: "order-1" });
    const write = async (name: string, ...given: Parameters<typeof moduleOf>) => {
      await writeFile(join(desk.folder, name), moduleOf(...given));
      return ["--keys", `${name}#keys`];
    };
    const [one, both, second] = [
      await write("one.mjs", "one", "one"),
      await write("both.mjs", "second", "one", "second"),
      await write("second.mjs", "second", "second"),
    ];
    const listed = async (given: readonly string[]) =>
      itemsOf<{ readonly agentId: string; readonly status: string }>(
        await desk.command(["list", "--json", ...given]),
      ).map(({ agentId, status }) => [agentId, status]);
    expect(await listed(one)).toEqual([["order-1", "waiting"]]);
    expect(await desk.command(["show", "order-1", ...one])).toMatchObject({ code: 0 });
    expect(await desk.command(["verify", ...one])).toMatchObject({ code: 0 });
    expect(await listed(second)).toEqual([["order-1", "unreadable"]]);
    expect(await desk.command(["reencrypt", "--yes"])).toMatchObject({ code: 2 });
    const changed = documentOf<{ readonly changed: number; readonly failed: readonly unknown[] }>(
      await desk.command(["reencrypt", "--yes", "--json", ...both]),
    );
    expect(changed.failed).toEqual([]);
    expect(changed.changed).toBeGreaterThan(0);
    expect(await listed(second)).toEqual([["order-1", "waiting"]]);
  });

  it("encrypts and decrypts exports and backups", async () => {
    await using desk = await Desk.open();
    await deskOn(encrypted(desk.storage, { keys })).run("the order", { agentId: "order-1" });
    await writeFile(join(desk.folder, "one.mjs"), moduleOf("one", "one"));
    await writeFile(join(desk.folder, "second.mjs"), moduleOf("second", "second", "one"));
    const [one, second] = [
      ["--keys", "one.mjs#keys"],
      ["--archive-keys", "second.mjs#keys"],
    ];
    const startOf = async (file: string) => (await readFile(join(desk.folder, file), "latin1")).slice(0, 13);
    const succeed = async (...given: readonly string[]) => expect(await desk.command(given)).toMatchObject({ code: 0 });
    await succeed("export", "order-1", "--out", "default.archive", ...one);
    await succeed("export", "order-1", "--out", "second.archive", ...one, ...second);
    await succeed("export", "order-1", "--out", "plain.archive", ...one, "--plain");
    expect(await Promise.all(["default", "second", "plain"].map((name) => startOf(`${name}.archive`)))).toEqual([
      '{"encrypted":',
      '{"encrypted":',
      '{"archive":1,',
    ]);
    const both = ["--plain", ...second];
    expect(await desk.command(["export", "order-1", "--out", "no.archive", ...one, ...both])).toMatchObject({
      code: 2,
    });
    await writeFile(
      join(desk.folder, "none.mjs"),
      "export const keys = () => undefined; export const off = () => false;",
    );
    for (const name of ["keys", "off"])
      expect(
        await desk.command([
          "export",
          "order-1",
          "--out",
          "none.archive",
          ...one,
          "--archive-keys",
          `none.mjs#${name}`,
        ]),
      ).toMatchObject({ code: 2 });
    const there = (name: string) => ["--storage", `file:${name}`];
    expect(await desk.command(["import", "second.archive", "--yes", ...there("a")])).not.toMatchObject({ code: 0 });
    await succeed("import", "second.archive", "--yes", ...there("a"), ...second);
    await succeed("import", "default.archive", "--yes", ...there("b"), ...one);
    expect(await desk.command(["import", "plain.archive", "--yes", ...there("c"), ...second])).not.toMatchObject({
      code: 0,
    });
    await succeed("backup", "backup", ...one, ...second);
    expect(await desk.command(["restore", "backup", "--yes", ...there("d")])).not.toMatchObject({ code: 0 });
    await succeed("restore", "backup", "--yes", ...there("e"), ...second);
    expect(await desk.command(["show", "order-1", ...there("e")])).toMatchObject({ code: 0 });
  });

  it.each(["the same storage", "another storage"])(
    "salvages a damaged agent whose data key is in %s",
    async (place) => {
      await using desk = await Desk.open();
      const isApart = place === "another storage";
      const keyStorage = isApart
        ? new FilePersistenceStorageProvider({ directory: join(desk.folder, "keys") })
        : undefined;
      const small = new FilePersistenceStorageProvider({ directory: desk.agents, inlineThresholdBytes: 20 });
      await deskOn(encrypted(small, { keys, keyStorage })).run("the order", { agentId: "order-1" });
      await small.log.close();
      await keyStorage?.log.close();
      await desk.damage("order-1", 0.9);
      const file = new URL("../../src/file.ts", import.meta.url).pathname;
      const separate = `
import { FilePersistenceStorageProvider } from ${JSON.stringify(file)};
export const options = () => ({ keys, keyStorage: new FilePersistenceStorageProvider({ directory: ${JSON.stringify(join(desk.folder, "keys"))} }) });`;
      await writeFile(join(desk.folder, "keys.mjs"), moduleOf("one", "one") + (isApart ? separate : ""));
      const withKeys = ["--keys", isApart ? "keys.mjs#options" : "keys.mjs#keys"];
      expect(await desk.command(["verify", "order-1", ...withKeys])).toMatchObject({ code: 6 });
      const salvage = ["salvage", "order-1", "--to", "saved", "--yes"];
      const refused = await desk.command(salvage);
      expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("--keys") });
      const report = documentOf<{ readonly appends: number; readonly lostBlobs: readonly string[] }>(
        await desk.command([...salvage, "--json", ...withKeys]),
      );
      expect(report).toMatchObject({ lostBlobs: [] });
      expect(report.appends).toBeGreaterThan(2);
      const saved = ["--storage", "file:saved", ...withKeys];
      expect(await desk.command(["verify", ...saved])).toMatchObject({ code: 0 });
      expect((await desk.command(["log", "order-1", ...saved])).out).toContain("the order");
    },
  );

  it("salvages an agent although the data key of another agent is damaged", async () => {
    await using desk = await Desk.open();
    for (const agentId of ["order-1", "order-2", "order-3"])
      await deskOn(encrypted(desk.storage, { keys })).run("the order", { agentId });
    await writeFile(join(desk.folder, "keys.mjs"), moduleOf("one", "one"));
    const given = ["--to", "saved", "--yes", "--json", "--keys", "keys.mjs#keys"];
    await desk.damage("data-key-order-2", 0.5);
    for (const agentId of ["order-1", "order-3"]) await desk.damage(agentId, 0.9);
    for (const agentId of ["order-1", "order-3"])
      expect(await desk.command(["salvage", agentId, ...given])).toMatchObject({ code: 0 });
    expect(await desk.command(["salvage", "order-2", ...given])).toMatchObject({ code: 6 });
    const saved = ["--storage", "file:saved", "--keys", "keys.mjs#keys"];
    expect(await desk.command(["verify", "order-1", "order-3", ...saved])).toMatchObject({ code: 0 });
  });
});
