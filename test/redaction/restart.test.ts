import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  type PersistenceStorageProvider,
  strategy,
} from "../../src/index.ts";
import { redaction } from "../../src/encryption.ts";
import { scriptedModel } from "../../src/testing.ts";
import { testKeys } from "../encryption/encryptedHarness.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { storedText } from "./redactedHarness.ts";

const pin = "PIN-483920";
const redact = () => redaction({ paths: ["answer.pin"], vault: { keys: testKeys("first") } });

/** An agent whose first run asks for the PIN. Every run repeats it in messages, beside some long ones. */
function repeatingAgent(storage: PersistenceStorageProvider) {
  return new AIAgent({
    promptExecutor: scriptedModel([]),
    llmModel: "scripted",
    strategy: strategy<number, string>("repeat", (graph) => {
      const repeat = graph.node("repeat", async (run: number, context) => {
        if (run === 0) await context.requestInput({ prompt: "The PIN?", schema: z.object({ pin: z.string() }) });
        context.llm.append({ role: "user", content: `In run ${run}: ${pin}` });
        for (let at = 0; at < 20 * 3 ** run; at++)
          context.llm.append({ role: "user", content: `${run} ${at} `.repeat(1_000) });
        return `${run}`;
      });
      graph.edge(graph.start, repeat);
      graph.edge(repeat, graph.finish);
    }),
  }).install(Persistence, { storage, redact: redact() });
}

/** The log of a process with a redaction of its own. */
const logOf = (storage: PersistenceStorageProvider) => redact().storage(storage).log;

describe("a secret that an earlier process learned", () => {
  it.each([
    ["opens the agent at once", false],
    ["first lists its requests", true],
  ])("stays redacted in snapshots and in new texts of a process that %s", async (_name, lists) => {
    const storage = new InMemoryPersistenceStorageProvider();
    const first = repeatingAgent(storage);
    await first.run(0, { agentId: "a" });
    const [request] = await persistence(first).agent("a").getRequests();
    await persistence(first)
      .agent("a")
      .answer(request?.requestId ?? "", { pin });
    await first.resume({ agentId: "a" });
    for (const run of [1, 2]) {
      const next = repeatingAgent(storage);
      if (lists) await persistence(next).agent("a").getRequests();
      expect(await next.run(run, { agentId: "a" })).toMatchObject({ output: `${run}` });
    }
    const text = await storedText(storage);
    expect(text.split('"kind":"snapshot"').length).toBeGreaterThan(2);
    expect(text.includes(pin)).toBe(false);
    const last = (await persistence(repeatingAgent(storage)).agent("a").getCheckpoints()).at(-1);
    expect(last?.messageHistory[0]).toEqual({ role: "user", content: `In run 2: ${pin}` });
  });

  it("stays redacted in a text that is stored again", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const owner = { host: "h", processId: 1, nonce: "n" };
    const message = { kind: "message", lane: 1, number: 1, message: { role: "user", content: `It is ${pin}.` } };
    const first = await logOf(storage).open("a", owner);
    await first.append({ id: "1", records: [{ kind: "reply", answer: { pin } } as never] }, 0);
    await first.append({ id: "2", records: [message] }, 1);
    await first.release();
    const log = logOf(storage);
    const [entry] = await collect(log.read("a", { after: 1 }));
    expect(entry?.records).toEqual([message]);
    const next = await log.open("a", owner);
    await next.append({ id: "3", records: entry?.records ?? [] }, 2);
    await next.release();
    expect((await storedText(storage)).includes(pin)).toBe(false);
    expect((await collect(logOf(storage).read("a"))).at(-1)?.records).toEqual([message]);
  });

  it("is forgotten when the agent is deleted", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const owner = { host: "h", processId: 1, nonce: "n" };
    const log = logOf(storage);
    const first = await log.open("a", owner);
    await first.append({ id: "1", records: [{ kind: "reply", answer: { pin } } as never] }, 0);
    await first.drop();
    const next = await log.open("a", owner);
    await next.append(
      { id: "2", records: [{ kind: "snapshot" }, { kind: "note", value: pin } as never] },
      next.position,
    );
    expect(await storedText(storage)).toContain(`{"kind":"snapshot"},{"kind":"note","value":"${pin}"}`);
  });

  it("is stored encrypted in the records that restate a log, and readers do not see it there", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const owner = { host: "h", processId: 1, nonce: "n" };
    const restating = ["snapshot", "pruned", "shape"].map((kind) => ({ kind, since: [], restated: [] }));
    const first = await logOf(storage).open("a", owner);
    await first.append({ id: "1", records: [{ kind: "reply", answer: { pin } } as never] }, 0);
    for (const [at, record] of restating.entries()) await first.append({ id: `${at}`, records: [record] }, at + 1);
    await first.release();
    for (const [at, record] of restating.entries()) {
      const log = logOf(storage);
      const [entry] = await collect(log.read("a", { after: at + 1, upTo: at + 2 }));
      expect(entry?.records).toEqual([record]);
      const next = await log.open("a", owner);
      await next.append({ id: `new-${at}`, records: [{ kind: "note", value: `It is ${pin}.` } as never] }, at + 4);
      await next.release();
    }
    expect((await storedText(storage)).includes(pin)).toBe(false);
  });
});
