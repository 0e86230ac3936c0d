import { expect, it } from "vitest";
import { FilePersistenceStorageProvider } from "../../src/file.ts";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
import { collect, testDirectory } from "../storage/file/support/fixture.ts";
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
