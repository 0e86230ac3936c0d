import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  NoPersistenceStorageProvider,
  Persistence,
  persistence,
  RollbackToolRegistry,
  strategy,
  tool,
} from "../../src/index.ts";
import { redaction, type RedactionOptions, secret } from "../../src/encryption.ts";
import { secretPaths } from "../../src/redaction/secret.ts";
import { Telemetry, type TelemetrySpan } from "../../src/feature.ts";
import { scriptedModel } from "../../src/testing.ts";
import { testKeys } from "../encryption/encryptedHarness.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { storedText } from "./redactedHarness.ts";

const keys = testKeys("first");
const look = tool({
  name: "look",
  description: "Looks.",
  inputSchema: z.object({ what: z.string() }),
  effect: "none",
  execute: () => ({ people: [{ name: "Ada", iban: "DE-secret-account" }], count: 1 }),
});
const pay = tool({
  name: "pay",
  description: "Pays.",
  inputSchema: z.object({ card: z.object({ number: secret(z.string()) }) }),
  execute: () => ({ receipt: "receipt-1" }),
});
const plainPay = { ...pay, inputSchema: z.object({ card: z.object({ number: z.string() }) }) };

function install(options: RedactionOptions, tools: ConstructorParameters<typeof AIAgent>[0]["tools"] = [look]) {
  const storage = new InMemoryPersistenceStorageProvider();
  const asked: unknown[] = [];
  const model = scriptedModel([{ toolCalls: [{ toolName: "look", input: { what: "a" } }] }, "done"]);
  const agent = new AIAgent({
    promptExecutor: {
      execute: (request) => {
        asked.push(request.messages);
        return model.execute(request);
      },
    },
    llmModel: "scripted",
    tools,
  }).install(Persistence, {
    storage,
    redact: redaction(options),
    rollbackToolRegistry: new RollbackToolRegistry().registerRollback(plainPay, () => undefined),
  });
  return { agent, storage, asked };
}

describe("redaction without a vault", () => {
  it("removes values of an output before the run, the model and the log get them", async () => {
    const { agent, storage, asked } = install({ paths: ["look.output.people.iban"] });
    await agent.run("go", { agentId: "a" });
    const redacted = '{"people":[{"name":"Ada","iban":"[redacted]"}],"count":1}';
    expect(JSON.stringify(asked.at(-1))).toContain(redacted);
    const text = await storedText(storage);
    expect(text).toContain(redacted);
    expect(text).not.toContain("DE-secret");
    const [last] = (await persistence(agent).agent("a").getCheckpoints()).slice(-1);
    expect(JSON.stringify(last)).toContain(redacted);
  });

  it.each([
    ["an input", [look], ["look.input.what"], "look", "a resume needs"],
    ["a marked field", [pay], [], "pay", "a resume needs"],
    ["an output with an inverse", [plainPay], ["pay.output.receipt"], "pay", "the inverse of the tool needs"],
    ["an output with an effect", [{ ...look, effect: "irreversible" }], ["look.output"], "look", "a call in doubt"],
    ["a storage value", [look], ["storage.profile"], undefined, "a resume needs"],
  ] as const)("refuses %s, and names the tool", (_name, tools, paths, toolName, reason) => {
    const installing = () => install({ paths }, tools as never);
    expect(installing).toThrow(expect.objectContaining({ code: "vault_required", toolName }));
    expect(installing).toThrow(reason);
    expect(() => install({ paths, vault: { keys } }, tools as never)).not.toThrow();
  });

  it("refuses the output of an agent that is called as a tool", () => {
    const inner = new AIAgent({ promptExecutor: scriptedModel(["ok"]), llmModel: "scripted", tools: [pay] });
    const asTool = inner.asTool({
      name: "inner",
      description: "Asks.",
      inputSchema: z.object({ question: z.string() }),
      input: ({ question }) => question,
    });
    expect(() => install({ paths: ["inner.output"] }, [asTool])).toThrow(
      expect.objectContaining({ code: "vault_required" }),
    );
  });

  it("refuses a function for texts", () => {
    expect(() => install({ text: (text) => text })).toThrow(expect.objectContaining({ code: "vault_required" }));
  });
});

describe("redaction()", () => {
  it.each([
    [{ paths: [""] }],
    [{ paths: ["*"] }],
    [{ paths: ["a..b"] }],
    [{ text: "no" }],
    [{ vault: {} }],
    [{ vault: { keys: { current: "" } } }],
    [{ tools: {} }],
  ])("refuses %j", (options) => {
    expect(() => redaction(options as never)).toThrow(expect.objectContaining({ code: "invalid_input" }));
  });

  it("needs a storage with a log for its vault", () => {
    const redact = redaction({ vault: { keys } });
    const agent = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "scripted" });
    expect(() => agent.install(Persistence, { storage: new NoPersistenceStorageProvider(), redact })).toThrow(
      expect.objectContaining({ code: "not_supported" }),
    );
    expect(() => redaction({}).storage(new InMemoryPersistenceStorageProvider())).toThrow(
      expect.objectContaining({ code: "not_supported" }),
    );
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["returns no text", () => undefined],
  ])("redacts whole texts if its function %s", async (_name, text) => {
    const { agent, storage } = install({ paths: ["look.output.people.iban"], text: text as never, vault: { keys } });
    await expect(agent.run("a question", { agentId: "a" })).resolves.toMatchObject({ output: "done" });
    const stored = await storedText(storage);
    expect(stored).not.toContain("DE-secret");
    expect(stored).not.toContain("a question");
    const [last] = (await persistence(agent).agent("a").getCheckpoints()).slice(-1);
    expect(last?.messageHistory[0]).toEqual({ role: "user", content: "a question" });
  });

  it("keeps values with hostile keys", async () => {
    const hostile = JSON.parse(
      '{"__proto__":{"card":"hostile-1"},"constructor":{"card":"hostile-2"},"":{"card":"hostile-3"}}',
    ) as object;
    const { agent, storage } = install({ paths: ["card", "__proto__.card"], vault: { keys } }, [
      { ...look, execute: () => hostile } as never,
    ]);
    await agent.run("go", { agentId: "a" });
    const stored = await storedText(storage);
    expect(stored).not.toContain("hostile-");
    const [last] = (await persistence(agent).agent("a").getCheckpoints()).slice(-1);
    expect(JSON.stringify(last?.messageHistory)).toContain(JSON.stringify(hostile));
    expect(({} as { card?: unknown }).card).toBeUndefined();
  });
});

describe("values that evade redaction", () => {
  const hidden = "DE-secret-account";
  it.each([
    [
      "look like a call of another tool",
      { data: { toolName: "other", output: { iban: hidden } } },
      "look.output.data.output.iban",
    ],
    [
      "look like another call's outcome",
      { call: "x", tool: "other", output: { iban: hidden } },
      "look.output.output.iban",
    ],
    ["contain the name of a blob", { iban: { [hidden]: `blob://${"a".repeat(64)}-1` } }, "iban"],
    ["look like a blob", { iban: { $blob: [`blob://${"a".repeat(64)}-1`, 1], other: hidden } }, "iban"],
    ["look like a rich value", { iban: hidden, x: { $rich: { json: 1, meta: hidden } } }, "iban"],
    ["look like an instance", { iban: hidden, x: { $rich: { json: { name: hidden, fields: 1 } } } }, "iban"],
    [
      "look like results",
      { iban: hidden, x: { $outcomes: [hidden, { part: { toolName: hidden }, output: hidden }] } },
      "iban",
    ],
    ["look like a plain envelope", { x: { $plain: { iban: hidden } } }, "iban"],
    ["look like a record", { iban: hidden, kind: "snapshot", since: [{ records: [{ id: hidden }] }] }, "iban"],
    ["are keys", { iban: hidden, x: { [hidden]: 1 } }, "iban"],
    ["are within another text", { iban: hidden, x: `{"a":"${hidden}"}` }, "iban"],
  ])("are redacted if they %s", async (_name, output, path) => {
    const { agent, storage } = install({ paths: [path], vault: { keys } }, [
      { ...look, execute: () => output } as never,
    ]);
    await agent.run("go", { agentId: "a" });
    expect(await storedText(storage)).not.toContain(hidden);
    expect(JSON.stringify(await collect(storage.log.list()))).not.toContain(hidden);
    const [last] = (await persistence(agent).agent("a").getCheckpoints()).slice(-1);
    expect(JSON.stringify(last?.messageHistory)).toContain(JSON.stringify(output));
  });
});

describe("a failed call without a recorded intent", () => {
  it("shows no secret of its input in events and telemetry", async () => {
    const shown: string[] = [];
    class Failures extends Telemetry {
      override start(): TelemetrySpan {
        return { run: (action) => action(), end: (_facts, failure) => void shown.push(String(failure?.error)) };
      }
    }
    const check = tool({
      name: "check",
      description: "Checks.",
      inputSchema: z.object({ card: z.object({ number: secret(z.string()) }) }),
      effect: "none",
      execute: ({ card }) => {
        throw new Error(`card ${card.number} declined`);
      },
    });
    const built = strategy<string, string>("checks", (graph) => {
      const one = graph.node("one", (input: string, { tools }) => tools.call(check, { card: { number: input } }));
      const all = graph.parallel("all", { one }, (results) => String(results.one));
      graph.edge(graph.start, all);
      graph.edge(all, graph.finish);
    });
    const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: built, tools: [check] });
    agent.install(Persistence, {
      storage: new InMemoryPersistenceStorageProvider(),
      redact: redaction({ vault: { keys } }),
      telemetry: new Failures(),
      onEvent: (event) => void (event.type === "branch_failed" && shown.push(String(event.error))),
    });
    await expect(agent.run("4111222233334444", { agentId: "a" })).rejects.toThrow("declined");
    expect(shown.filter((text) => text.includes("[redacted]"))).toHaveLength(3);
    expect(shown.join()).not.toContain("4111222233334444");
  });
});

describe("secret()", () => {
  it("marks fields in schemas of all kinds", () => {
    interface Node {
      readonly key: string;
      readonly next?: Node | undefined;
    }
    const node: z.ZodType<Node> = z.lazy(() => z.object({ key: secret(z.string()), next: node.optional() }));
    const schema = z.object({
      plain: z.string(),
      text: secret(z.string()).min(3).optional().default("x"),
      list: z.array(z.object({ a: secret(z.number()) })),
      record: z.record(z.string(), z.object({ b: secret(z.string()) })),
      map: z.map(z.string(), secret(z.string())),
      either: z.union([z.object({ c: secret(z.string()) }), z.string()]),
      both: z.intersection(z.object({ d: secret(z.string()) }), z.object({ e: z.string() })),
      tuple: z.tuple([z.string(), secret(z.string())]),
      piped: secret(z.string())
        .transform((text) => text.length)
        .nullable(),
      kinds: z.discriminatedUnion("kind", [z.object({ kind: z.literal("x"), f: secret(z.string()) })]),
      node,
    });
    expect(secretPaths(schema).map((path) => path.join("."))).toEqual([
      "text",
      "list.a",
      "record.*.b",
      "map.*",
      "either.c",
      "both.d",
      "tuple",
      "piped",
      "kinds.f",
      "node.key",
      "node.next",
    ]);
    expect(secretPaths(secret(z.object({ a: z.string() })))).toEqual([[]]);
    expect(secretPaths(z.object({ a: z.string() }))).toEqual([]);
  });

  it("marks fields that contain themselves, and records with secret keys, as a whole", () => {
    const person = z.object({
      pin: secret(z.string()),
      get friends() {
        return z.array(person);
      },
    });
    interface Tree {
      readonly children: readonly Tree[];
    }
    const tree: z.ZodType<Tree> = z.lazy(() => z.object({ children: z.array(tree) }));
    const endless = (): z.ZodType => z.lazy(() => z.object({ pin: secret(z.string()), next: endless() }));
    const schema = z.object({
      person,
      tree,
      byCard: z.record(secret(z.string()), z.number()),
      pins: z.record(z.string(), secret(z.string())),
    });
    expect(secretPaths(schema).map((path) => path.join("."))).toEqual([
      "person.pin",
      "person.friends",
      "byCard",
      "pins.*",
    ]);
    expect(
      secretPaths(endless())
        .map((path) => path.join("."))
        .slice(0, 2),
    ).toEqual(["pin", "next.pin"]);
    expect(
      secretPaths(endless())
        .at(-1)
        ?.every((key) => key === "next"),
    ).toBe(true);
  });
});
