import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, registerClass } from "agent-persistence";
import { FilePersistenceStorageProvider, FileRecordLog } from "agent-persistence/file";
import { filterCheckpoints, LogPersistenceStorageProvider } from "agent-persistence/storage";
import { expect, it } from "vitest";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";

/** A value of another type, as JavaScript may pass it. */
const wrong = (value: unknown): never => value as never;

const { log } = new InMemoryPersistenceStorageProvider();
const files = (options: unknown) => () => new FilePersistenceStorageProvider(wrong(options));
const fileLog = (options: unknown) => () => new FileRecordLog(wrong(options));
const overLog = (options: unknown) => () => new LogPersistenceStorageProvider(log, wrong(options));
const memoryLog = (options: unknown) => () => new MemoryRecordLog(wrong(options));
const installed = (storage: unknown) => () => {
  const promptExecutor = { execute: () => Promise.reject(new Error("No model is asked.")) };
  return new AIAgent({ promptExecutor, llmModel: "none" }).install(Persistence, { storage: wrong(storage) });
};
const filter = (given: unknown) => () => filterCheckpoints([], wrong(given));

/** The call, the path of the problem, and what is said of it. */
const refused: readonly (readonly [string, string, RegExp, () => unknown])[] = [
  ["the file storage: a misspelled directory", "", /"directroy"; did you mean "directory"/, files({ directroy: "x" })],
  [
    "the file storage: a misspelled threshold",
    "",
    /did you mean "inlineThresholdBytes"/,
    files({ inlineTresholdBytes: 1 }),
  ],
  [
    "the file storage: a threshold that is text",
    "inlineThresholdBytes",
    /number/,
    files({ inlineThresholdBytes: "1" }),
  ],
  ["an agent: a path in place of a storage", "storage", /new FilePersistenceStorageProvider/, installed("./agents")],
  ["the file storage: an empty directory", "directory", /./, files({ directory: "" })],
  ["the file storage: no options object", "", /./, files("data")],
  ["the log in files: a misspelled lease", "", /"leasMs"; did you mean "leaseMs"/, fileLog({ leasMs: 5 })],
  ["the log in files: an option of the provider", "", /"inlineThresholdBytes"/, fileLog({ inlineThresholdBytes: 5 })],
  ["the log in files: a lease of no time", "leaseMs", /number/, fileLog({ leaseMs: 0 })],
  ["the log in files: a file system without methods", "fileSystem", /object with/, fileLog({ fileSystem: {} })],
  ["the log in files: a clock without methods", "clock", /object with/, fileLog({ clock: Date })],
  ["the log in files: an identity that is text", "processIdentity", /object with/, fileLog({ processIdentity: "me" })],
  ["the log in files: a hash that is text", "sha256", /object with/, fileLog({ sha256: "sha256" })],
  ["a provider over a log: an unknown option", "", /"threshold"/, overLog({ threshold: 5 })],
  [
    "a provider over a log: a negative threshold",
    "compressThresholdBytes",
    /number/,
    overLog({ compressThresholdBytes: -1 }),
  ],
  [
    "the log in memory: an unknown option",
    "",
    /"sha"; did you mean "sha256"|options are sha256/,
    memoryLog({ sha: 1 }),
  ],
  ["the log in memory: a hash that is text", "sha256", /object with/, memoryLog({ sha256: "md5" })],
  ["a filter: a misspelled key", "", /"nodeID"; did you mean "nodeId"/, filter({ nodeID: "n" })],
  ["a filter: a version that is text", "afterVersion", /number/, filter({ afterVersion: "1" })],
  ["a filter: a negative limit", "limit", /whole number/, filter({ limit: -1 })],
  ["registerClass: a number in place of the name", "name", /string/, () => registerClass(wrong(5), class Money {})],
  ["registerClass: an object in place of the class", "class", /a class/, () => registerClass("Money", wrong({}))],
];

it.each(refused)("wrong storage options are refused with invalid_input by %s", (_name, path, message, call) => {
  expect(call).toThrow(
    expect.objectContaining({
      code: "invalid_input",
      problems: [{ path, expected: expect.stringMatching(message) as string }],
    }),
  );
});

it("the file storage accepts the options of its log and of its provider together", () => {
  expect(new FilePersistenceStorageProvider({ leaseMs: 5, compressThresholdBytes: 7 }).compressThresholdBytes).toBe(7);
});
