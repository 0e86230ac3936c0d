import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
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
});
