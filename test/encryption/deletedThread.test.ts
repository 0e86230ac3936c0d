import { destroyKey, encrypted } from "agent-persistence/encryption";
import { PersistenceSaver } from "agent-persistence/langgraph";
import { PersistenceSession } from "agent-persistence/openai-agents";
import { describe, expect, it } from "vitest";
import { gathered, SavedThread } from "../integrations/langgraph/savedThread.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { LogPersistenceStorageProvider } from "../../src/storage.ts";
import { delegatingLog } from "../testing/delegatingLog.ts";
import { testKeys } from "./encryptedHarness.ts";
import { openBooks } from "./storedBytes.ts";

const item = (content: string) => ({ type: "message" as const, role: "user" as const, content });
const large = "large ".repeat(10_000);

describe.each(["in memory", "in files", "in SQLite"])("%s, after the data key was destroyed", (name) => {
  const encryptedStorage = async () => {
    const book = await openBooks[name]?.();
    if (!book) throw new Error(`there is no ${name}`);
    return { storage: encrypted(book.storage, { keys: testKeys("first") }), stored: book.storage };
  };

  it("a graph thread can be deleted, and its id used again", async () => {
    const { storage, stored } = await encryptedStorage();
    const thread = new SavedThread({ storage });
    await thread.put(undefined, { text: large });
    await thread.saver[Symbol.asyncDispose]();
    await destroyKey(storage, "thread:order-7");
    const saver = new PersistenceSaver({ storage });
    await expect(saver.getTuple(thread.config)).rejects.toMatchObject({ code: "key_missing" });
    await saver.deleteThread("order-7");
    expect(await collect(stored.log.list())).toEqual([]);
    const put = await thread.put(undefined, { text: "new" }, { saver });
    expect(await thread.values(put, saver)).toEqual({ text: "new" });
    expect(await gathered(saver.list(thread.config))).toHaveLength(1);
  });

  it("a session can be cleared, and used again", async () => {
    const { storage, stored } = await encryptedStorage();
    const options = { storage, sessionId: "s" };
    const first = new PersistenceSession(options);
    await first.addItems([item(large)]);
    await first[Symbol.asyncDispose]();
    await destroyKey(storage, "session:s");
    const session = new PersistenceSession(options);
    await expect(session.getItems()).rejects.toMatchObject({ code: "key_missing" });
    await expect(session.addItems([item("more")])).rejects.toMatchObject({ code: "key_missing" });
    await session.clearSession();
    expect(await collect(stored.log.list())).toEqual([]);
    await session.addItems([item("new")]);
    expect(await session.getItems()).toEqual([item("new")]);
  });

  it("a session is kept while only the key source lacks its key", async () => {
    const { storage, stored } = await encryptedStorage();
    const options = { storage, sessionId: "s" };
    const first = new PersistenceSession(options);
    await first.addItems([item("kept")]);
    await first[Symbol.asyncDispose]();
    const other = encrypted(stored, { keys: testKeys("other") });
    const session = new PersistenceSession({ storage: other, sessionId: "s" });
    await expect(session.clearSession()).rejects.toMatchObject({ code: "key_missing", keyId: "first" });
    expect(await new PersistenceSession(options).getItems()).toEqual([item("kept")]);
  });
});

it("a repeated deletion of a graph thread removes the key that an interrupted deletion left", async () => {
  const book = await openBooks["in files"]?.();
  if (!book) throw new Error("there are no files");
  const { log } = book.storage;
  const keys = testKeys("first");
  const thread = new SavedThread({ storage: encrypted(book.storage, { keys }) });
  await thread.put(undefined, { text: "one" });
  await thread.saver[Symbol.asyncDispose]();
  const crash = () => Promise.reject(new Error("crash"));
  const open = (...given: Parameters<typeof log.open>) =>
    given[0] === "data_key:thread:order-7" ? crash() : log.open(...given);
  const crashing = encrypted(new LogPersistenceStorageProvider(delegatingLog(log, { open })), { keys });
  await expect(new PersistenceSaver({ storage: crashing }).deleteThread("order-7")).rejects.toThrow("crash");
  await new PersistenceSaver({ storage: encrypted(book.storage, { keys }) }).deleteThread("order-7");
  expect((await book.bytes()).includes('"wrapped"')).toBe(false);
});
