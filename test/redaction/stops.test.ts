import { expect, it } from "vitest";
import { redaction } from "../../src/encryption.ts";
import { FilePersistenceStorageProvider } from "../../src/file.ts";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
import { testKeys } from "../encryption/encryptedHarness.ts";
import { bytesUnder } from "../encryption/storedBytes.ts";
import { testDirectory } from "../storage/file/support/fixture.ts";

const secretText = "secret-in-a-reason";
const record = { kind: "note", value: "secret" } as never;

it("stores the reason of a stop encrypted, and the owner gets it", async () => {
  const directory = await testDirectory();
  const logOf = (keys = testKeys("first")) =>
    redaction({ paths: ["value"], vault: { keys } }).storage(new FilePersistenceStorageProvider({ directory })).log;
  const owned = await logOf().open("a", processOwner());
  await owned.append({ id: "1", records: [record] }, 0);
  await logOf().requestStop("a", secretText);
  expect((await bytesUnder(directory)).includes(secretText)).toBe(false);
  await owned.checkStop?.();
  expect(owned.lost.reason).toMatchObject({ code: "stop_requested", reason: secretText });
  await owned.release();
});

it("stops an agent without its key, and redacts the reason by text", async () => {
  const directory = await testDirectory();
  const text = (given: string) => given.replaceAll(secretText, "***");
  const logOf = (keys = testKeys("first")) =>
    redaction({ paths: ["value"], text, vault: { keys } }).storage(new FilePersistenceStorageProvider({ directory }))
      .log;
  const owned = await logOf().open("a", processOwner());
  await owned.append({ id: "1", records: [record] }, 0);
  await logOf(testKeys("second")).requestStop("a", `because of ${secretText}`);
  expect((await bytesUnder(directory)).includes(secretText)).toBe(false);
  await owned.checkStop?.();
  expect(owned.lost.reason).toMatchObject({ code: "stop_requested", reason: "because of ***" });
  await owned.release();
});
