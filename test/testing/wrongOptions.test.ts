import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { FileRecordLog } from "agent-persistence/file";
import { aiSdkExecutor } from "agent-persistence/ai-sdk";
import { InMemoryStreamStore } from "agent-persistence/streams";
import {
  crashAfter,
  persistenceStorageProviderConformance,
  recordLogConformance,
  scriptedModel,
  SimulatedClock,
  SimulatedFileSystem,
  streamStoreConformance,
} from "agent-persistence/testing";
import { expect, it } from "vitest";

/** A value of another type, as JavaScript may pass it. */
const wrong = (value: unknown): never => value as never;

const storage = new InMemoryPersistenceStorageProvider();
const model = (turns: unknown, options?: unknown) => () => scriptedModel(wrong(turns), wrong(options));
const crash = (given: unknown, saves: unknown) => () => crashAfter(wrong(given), wrong(saves));
const clock = () => new SimulatedClock();
const inject = (fault: unknown) => () => new SimulatedFileSystem().inject(wrong(fault));
const crashes = (after: unknown, options?: unknown) => () =>
  new SimulatedFileSystem().crashStates(wrong(after), wrong(options));
const executor = (models: unknown, options?: unknown) => () => aiSdkExecutor(wrong(models), wrong(options));

const calls = { toolCalls: [{ toolName: "t" }] };
const misspelled = { toolName: "t", input: 1, inputs: 1 };

/** The call, the path of the problem, and what is said of it. */
const refused: readonly (readonly [string, string, RegExp, () => unknown])[] = [
  ["scriptedModel: a turn in place of the list", "", /array/, model("hello")],
  ["scriptedModel: a turn that is a number", "0", /turn/, model([5])],
  ["scriptedModel: a turn without tool calls", "1", /turn/, model(["ok", { text: "hm" }])],
  ["scriptedModel: tool calls that are text", "toolCalls.0", /plain object/, model([{ toolCalls: ["t"] }])],
  ["scriptedModel: a misspelled input", "toolCalls.0", /did you mean "input"/, model([{ toolCalls: [misspelled] }])],
  ["scriptedModel: a call without input", "toolCalls.0.input", /^expected a value$/, model([calls])],
  ["scriptedModel: a misspelled turn", "", /did you mean "text"/, model([{ toolCalls: [], txt: "hi" }])],
  ["scriptedModel: a misspelled option", "", /did you mean "toolCallIds"/, model([], { toolCallIDs: "unique" })],
  ["scriptedModel: unknown ids", "toolCallIds", /./, model([], { toolCallIds: "random" })],
  ["crashAfter: no storage", "", /such as new FilePersistenceStorageProvider/, crash({}, 1)],
  ["crashAfter: a fractional number of saves", "", /whole number/, crash(storage, 0.5)],
  ["crashAfter: saves as text", "", /whole number/, crash(storage, "2")],
  ["SimulatedClock: a start that is a Date", "", /number/, () => new SimulatedClock(wrong(new Date()))],
  ["SimulatedClock: an advance back in time", "", /number/, () => clock().advance(-1)],
  ["SimulatedClock: an advance by text", "", /number/, () => clock().advance(wrong("5"))],
  ["SimulatedClock: a jump to an invalid time", "", /number/, () => clock().jump(Number.NaN)],
  ["SimulatedFileSystem: an unknown fault", "kind", /./, inject({ kind: "EOOPS", call: 1 })],
  ["SimulatedFileSystem: a fault without a call", "call", /whole number/, inject({ kind: "EIO", call: 0 })],
  [
    "SimulatedFileSystem: a misspelled fault",
    "",
    /did you mean "fromThenOn"/,
    inject({ kind: "EIO", call: 1, fromThenon: true }),
  ],
  ["SimulatedFileSystem: a crash at no position", "", /whole number/, crashes(-1)],
  ["SimulatedFileSystem: a misspelled option", "", /did you mean "samples"/, crashes(0, { sample: 5 })],
  ["SimulatedFileSystem: an unknown crash model", "models.0", /./, crashes(0, { models: ["kil"] })],
  ["aiSdkExecutor: no model", "", /model/, executor(undefined)],
  ["aiSdkExecutor: the name of a model", "", /model/, executor("gpt-5-mini")],
  ["aiSdkExecutor: a list of models", "", /model.*received array/, executor([])],
  ["aiSdkExecutor: a provider that is not a function", "", /model/, executor({ languageModel: () => undefined })],
  ["aiSdkExecutor: a model that is awaited too late", "", /received a Promise/, executor(Promise.resolve({}))],
  [
    "aiSdkExecutor: a misspelled option",
    "",
    /did you mean "onWarning"/,
    executor(() => wrong(0), { onWarnings: () => {} }),
  ],
  ["aiSdkExecutor: a listener that is text", "onWarning", /function/, executor(() => wrong(0), { onWarning: "log" })],
];

it.each(refused)("wrong options are refused with invalid_input by %s", (_name, path, message, call) => {
  expect(call).toThrow(
    expect.objectContaining({
      code: "invalid_input",
      problems: [{ path, expected: expect.stringMatching(message) as string }],
    }),
  );
});

it.each<[string, unknown, RegExp]>([
  ["no turn", undefined, /plain object, received undefined/],
  ["no calls", { text: "hm" }, /expected array/],
  ["a Promise", Promise.resolve("ok"), /did you forget/],
])("a scripted function that returns %s is refused with the number of its turn", async (_name, turn, message) => {
  const scripted = scriptedModel([() => wrong(turn)]);
  const request = { messages: [], abortSignal: new AbortController().signal };
  const error: unknown = await scripted.execute(wrong(request)).catch((caught: unknown) => caught);
  expect(error).toMatchObject({
    code: "invalid_input",
    message: expect.stringContaining("turn 0 of a scripted model"),
  });
  expect(String(error)).toMatch(message);
});

const { log } = storage;
const none = { leftOut: "not of interest" };
const others = { reopen: none, advance: none, silence: none, alter: none, loseAnswer: none };
const many = new FileRecordLog();
const [logTest] = recordLogConformance;
const [providerTest] = persistenceStorageProviderConformance;
const [streamTest] = streamStoreConformance;

/** What `make` returns, the path of the problem, and what is said of it. */
const harnesses: readonly (readonly [string, string, RegExp, () => Promise<void> | undefined])[] = [
  ["a log without methods", "log", /object with/, () => logTest?.run(() => wrong({ ...others, log: {} }))],
  ["a misspelled member", "", /did you mean "alter"/, () => logTest?.run(() => wrong({ ...others, log, altre: none }))],
  ["a log alone", "", /plain object, received an instance of MemoryRecordLog/, () => logTest?.run(() => wrong(log))],
  [
    "a log with a missing advance",
    "advance",
    /function, or \{ leftOut/,
    () => logTest?.run(() => wrong({ ...others, log, advance: undefined })),
  ],
  [
    "an omitted member without a reason",
    "alter",
    /function, or \{ leftOut/,
    () => logTest?.run(() => wrong({ ...others, log, alter: { leftOut: "" } })),
  ],
  [
    "a durable log that is not reopened",
    "reopen",
    /a function, as capabilities.durable is true/,
    () => logTest?.run(() => ({ ...others, log: many, silence: () => {} })),
  ],
  [
    "a log for many processes whose owners do not fall silent",
    "silence",
    /a function, as capabilities.processes is "many"/,
    () => logTest?.run(() => ({ ...others, log: many, reopen: () => many })),
  ],
  ["no log", "", /./, () => logTest?.run(() => wrong(undefined))],
  [
    "a provider without methods",
    "provider",
    /such as new FilePersistenceStorageProvider/,
    () => providerTest?.run(() => wrong({ provider: {} })),
  ],
  [
    "a reopen that is not a function",
    "reopen",
    /function/,
    () => providerTest?.run(() => wrong({ provider: storage, reopen: storage })),
  ],
  ["a stream store alone", "", /plain object, received/, () => streamTest?.run(() => wrong(new InMemoryStreamStore()))],
  ["a stream store without methods", "store", /object with/, () => streamTest?.run(() => wrong({ store: {} }))],
  ["text instead of a log", "", /plain object, received string/, () => logTest?.run(() => wrong("log"))],
  ["text instead of a provider", "", /plain object, received string/, () => providerTest?.run(() => wrong("memory"))],
  ["a make that is not a function", "", /function/, () => providerTest?.run(wrong(storage))],
];

it.each(harnesses)("the conformance suites refuse %s with invalid_input", async (_name, path, message, run) => {
  await expect(run()).rejects.toMatchObject({
    code: "invalid_input",
    problems: [{ path, expected: expect.stringMatching(message) as string }],
  });
});
