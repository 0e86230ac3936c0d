import { generateKeyPairSync, sign, verify } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { encrypted } from "agent-persistence/encryption";
import { sealed, type SealOptions } from "agent-persistence/seals";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
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

describe("commands that write on a sealed storage", () => {
  it("refuse without --seals although the first agents are damaged", async () => {
    await using desk = await Desk.open();
    const { sign: signed, verify: verified } = newKey();
    const agent = deskOn(sealed(desk.storage, { sign: signed, verify: verified }));
    const damagedIds = ["order-1", "order-2", "order-3", "order-4", "order-5", "order-6"];
    for (const agentId of [...damagedIds, "order-7"]) await agent.run("pen", { agentId });
    await desk.storage.log.close();
    for (const agentId of damagedIds) await desk.damage(agentId, 0.1);
    const refused = await desk.command(["mark-restored", "--yes"]);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("--seals ./seals.js#<export>") });
  });

  const pair = generateKeyPairSync("ed25519");
  const signWith: SealOptions = {
    sign: (bytes) => sign(null, bytes, pair.privateKey),
    verify: (bytes, signature) => verify(null, bytes, pair.publicKey, signature),
    every: 2,
  };
  const keys = { current: "one", get: () => new Uint8Array(32).fill(1) };
  const wraps: Readonly<Record<string, (storage: LogPersistenceStorageProvider) => LogPersistenceStorageProvider>> = {
    "that is not encrypted": (storage) => sealed(storage, signWith),
    "over an encrypted one": (storage) => sealed(encrypted(storage, { keys }), signWith),
    "under an encrypted one": (storage) => encrypted(sealed(storage, signWith), { keys }),
  };

  it.each(Object.entries(wraps))("%s refuse without --seals, and seal with it", async (name, wrap) => {
    await using desk = await Desk.open();
    await deskOn(wrap(desk.storage)).run("pen", { agentId: "order-1" });
    const text = `import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
      const key = createPrivateKey(${JSON.stringify(pair.privateKey.export({ type: "pkcs8", format: "pem" }))});
      const publicKey = createPublicKey(key);
      export const seals = { sign: (bytes) => sign(null, bytes, key), every: 2,
        verify: (bytes, signature) => verify(null, bytes, publicKey, signature) };
      export const keys = { current: "one", get: () => new Uint8Array(32).fill(1) };`;
    await writeFile(join(desk.folder, "secrets.mjs"), text);
    await writeFile(join(desk.folder, "seals.pem"), pair.publicKey.export({ type: "spki", format: "pem" }));
    const withKeys = name === "that is not encrypted" ? [] : ["--keys", "secrets.mjs#keys"];
    const withSeals = [...withKeys, "--seals", "secrets.mjs#seals"];
    const verified = () => desk.command(["verify", "--key", "seals.pem", ...withKeys]);
    expect(await verified()).toMatchObject({ code: 0 });
    for (const command of [["fork", "order-1", "order-2"], ["mark-restored"]]) {
      const refused = await desk.command([...command, "--yes", ...withKeys]);
      expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("--seals ./seals.js#<export>") });
    }
    expect(await desk.command(["fork", "order-1", "order-2", "--yes", ...withSeals])).toMatchObject({ code: 0 });
    expect(await desk.command(["mark-restored", "--yes", ...withSeals])).toMatchObject({ code: 0 });
    expect(await desk.command(["show", "order-2", ...withSeals])).toMatchObject({ code: 0 });
    expect(await verified()).toMatchObject({ code: 0 });
    const secrets = name === "under an encrypted one" ? withSeals : withKeys;
    if (withKeys.length > 0) expect(await desk.command(["reencrypt", "--yes", ...secrets])).toMatchObject({ code: 0 });
    expect(await verified()).toMatchObject({ code: 0 });
  });
});
