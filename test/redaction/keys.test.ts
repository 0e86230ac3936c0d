import { encrypted, redaction } from "agent-persistence/encryption";
import { expect, it } from "vitest";
import { FilePersistenceStorageProvider } from "../../src/file.ts";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
import { collect, testDirectory } from "../storage/file/support/fixture.ts";
import { InMemoryPersistenceStorageProvider } from "../../src/index.ts";
import { testKeys } from "../encryption/encryptedHarness.ts";
import { redactedLog } from "./redactedHarness.ts";

it("keeps the key of an agent that did not exist when it was opened for its deletion", async () => {
  const { log } = new FilePersistenceStorageProvider({ directory: await testDirectory() });
  const absent = await redactedLog(log).open("a", { ...processOwner(), mustExist: true });
  const made = await redactedLog(log).open("a", processOwner());
  await made.append({ id: "1", records: [{ kind: "note", value: "secret" } as never] }, 0);
  await made.release();
  await absent.drop();
  const [entry] = await collect(redactedLog(log).read("a"));
  expect(entry?.records).toMatchObject([{ value: "secret" }]);
});

it("needs a key storage of its own in an encrypted storage", async () => {
  const keys = testKeys("first");
  const storage = encrypted(new InMemoryPersistenceStorageProvider(), { keys });
  const paths = ["value"];
  expect(() => redaction({ paths, vault: { keys } }).storage(storage)).toThrow(
    "A data key needs a `keyStorage` without encryption and redaction",
  );
  const keyStorage = new InMemoryPersistenceStorageProvider();
  const { log } = redaction({ paths, vault: { keys, keyStorage } }).storage(storage);
  const owned = await log.open("a", processOwner());
  await owned.append({ id: "1", records: [{ kind: "note", value: "secret" } as never] }, 0);
  await owned.release();
  expect((await collect(log.read("a")))[0]?.records).toMatchObject([{ value: "secret" }]);
  expect(await collect(keyStorage.log.list())).toMatchObject([{ agentId: "data_key:a" }]);
});
