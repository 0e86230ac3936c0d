import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sealed } from "agent-persistence/seals";
import { describe, expect, it } from "vitest";
import { newKey } from "../seals/sealedHarness.ts";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
import { Desk } from "./support/Desk.ts";
import { deskOn } from "./support/desk/desk.mjs";
import { itemsOf } from "./support/TestTerminal.ts";

describe("verify --key", () => {
  it("names the appends of a sealed storage that were changed", async () => {
    await using desk = await Desk.open();
    const key = newKey();
    const storage = sealed(desk.storage, { sign: key.sign, verify: key.verify, every: 2 });
    await deskOn(storage).run("pen", { agentId: "order-1" });
    await writeFile(join(desk.folder, "keys.pem"), `${newKey().pem}\n${key.pem}`);
    await writeFile(join(desk.folder, "other.pem"), newKey().pem);
    expect(await desk.command(["verify"])).toMatchObject({ code: 0 });
    expect(await desk.command(["verify", "--key", "keys.pem"])).toMatchObject({ code: 0 });

    const other = await desk.command(["verify", "--key", "other.pem"]);
    expect(other.code).toBe(6);
    expect(other.out).toMatch(/seal_broken .* has no valid seal/);

    const owned = await desk.storage.log.open("order-1", processOwner());
    const { position } = owned;
    for (const after of [0, 1]) await owned.append({ id: `x-${after}`, records: [] }, position + after);
    await owned.release();
    expect(await desk.command(["verify"])).toMatchObject({ code: 0 });
    const [found] = itemsOf(await desk.command(["verify", "order-1", "--key", "keys.pem", "--json"]));
    expect(found).toMatchObject({ agentId: "order-1", damage: [{ code: "seal_broken" }] });
  });

  it("rejects a file without a key", async () => {
    await using desk = await Desk.open();
    await writeFile(join(desk.folder, "empty.pem"), "no key");
    for (const file of ["empty.pem", "missing.pem"])
      expect(await desk.command(["verify", "--key", file])).toMatchObject({ code: 2 });
  });
});
