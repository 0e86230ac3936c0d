/**
 * The agents that wrote the logs in `logs/`, as version 0.1.0 at commit 640f600 ran them: with these strategies and tools,
 * clocks that stand still and an invented process. Ends without a `closed` line are copies of the folder from the middle
 * of a tool call; a torn line and a claim without its `open` were cut to length afterwards. Only two numbers of 0.1.0 were
 * lowered: a snapshot was due after a few kilobytes, and in `owners` segments of more than 2,000 bytes were listed.
 * `expected.json.gz` beside each is what 0.1.0 itself read of them, and what became of them when it resumed each agent.
 *
 * The logs stand for what users have stored, so they must never be written anew; nor may anything here change that a
 * stored run depends on: names, nodes, edges, tools and turns. What a later version writes gets a folder of its own.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import {
  AIAgent,
  Persistence,
  persistence,
  registerClass,
  RollbackToolRegistry,
  storageKey,
  strategy,
  tool,
  type AnyTool,
  type Environment,
  type PersistenceConfig,
  type PersistenceStorageProvider,
  type PromptExecutor,
  type Strategy,
  triggers,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { FilePersistenceStorageProvider, type ProcessIdentity } from "agent-persistence/file";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import { z } from "zod";

type Storage = PersistenceStorageProvider;
type Options = Partial<Omit<PersistenceConfig, "storage">>;

/** The process that wrote the logs; whoever reads them finds it gone. */
const writer: ProcessIdentity = {
  host: "fixture",
  bootId: "fixture-boot",
  pidNamespace: "fixture-pid",
  processId: 1,
  processStart: "1",
  isRunning: () => false,
};

/** Thresholds as low as those that the logs were written with, so that small values are blobs, too. */
export const lowThresholds = { inlineThresholdBytes: 400, compressThresholdBytes: 1500 };

export function openStorage(
  directory: string,
  thresholds: Partial<typeof lowThresholds> = lowThresholds,
): LogPersistenceStorageProvider {
  return new FilePersistenceStorageProvider({
    directory,
    processIdentity: writer,
    clock: new SimulatedClock(),
    ...thresholds,
  });
}

/** What tools did, in order. */
export class World {
  readonly done: string[] = [];
  /** Called when a tool has begun and done nothing yet. */
  before: (what: string) => void = () => {};
  /** How often a model was asked. */
  asked = 0;
  /** What goes wrong. */
  readonly broken = new Set<string>();

  act(what: string): void {
    this.before(what);
    this.done.push(what);
  }

  /** @throws Error while this is broken; its stack names no machine. */
  assertWhole(what: string): void {
    if (!this.broken.has(what)) return;
    const error = new Error(`${what} is broken`);
    error.stack = `Error: ${what} is broken\n    at fixture`;
    throw error;
  }
}

/** A class whose instances are stored. */
export class Money {
  readonly amount: bigint;
  readonly currency: string;

  constructor(amount: bigint, currency: string) {
    this.amount = amount;
    this.currency = currency;
  }
}
registerClass("fixture/Money", Money);

const item = z.object({ item: z.string() });

function toolsOf(world: World) {
  const acting = (name: string, more: { readonly effect?: "none" | "idempotent" | "irreversible" } = {}) =>
    tool({
      name,
      description: `does ${name}`,
      inputSchema: item,
      ...more,
      execute: (input) => {
        world.act(`${name} ${input.item}`);
        world.assertWhole(`${name} ${input.item}`);
        return { made: input.item };
      },
    });
  const book = acting("book");
  const mail = acting("mail", { effect: "irreversible" });
  const look = acting("look", { effect: "none" });
  const pay = tool({
    name: "pay",
    description: "pays; it can be asked whether it did",
    inputSchema: item,
    effect: "irreversible",
    execute: (input) => {
      world.act(`pay ${input.item}`);
      return { paid: input.item };
    },
    probe: () => "not-done",
  });
  const report = tool({
    name: "report",
    description: "gives many lines",
    inputSchema: z.object({ lines: z.number() }),
    effect: "idempotent",
    execute: ({ lines }) => {
      world.act(`report ${lines}`);
      return Array.from({ length: lines }, (_, at) => `line ${at} of ${lines}`).join("\n");
    },
  });
  const odd = tool({
    name: "odd",
    description: "gives what cannot be stored",
    inputSchema: item,
    effect: "idempotent",
    execute: (input) => {
      world.act(`odd ${input.item}`);
      return { give: () => input.item };
    },
  });
  const wipe = tool({
    name: "wipe",
    description: "does great harm",
    inputSchema: item,
    effect: "irreversible",
    dangerous: true,
    execute: (input) => {
      world.act(`wipe ${input.item}`);
      return new Date(0);
    },
  });
  const plan = tool({
    name: "plan",
    description: "asks the model and books what it says",
    inputSchema: item,
    effect: "idempotent",
    execute: async (input, { context }) => {
      await context.tools.call(look, input);
      const answer = await context.llm.request();
      context.llm.append(answer);
      const results = await context.tools.execute(answer);
      await context.tools.call(book, { item: `extra ${input.item}` });
      world.act(`plan ${input.item}`);
      return results.content.length;
    },
  });
  const registry = new RollbackToolRegistry().registerRollback(
    book,
    (input, { output }) => {
      world.act(`undo ${input.item} made ${output.made}`);
      world.assertWhole(`undo ${input.item}`);
    },
    { effect: "idempotent" },
  );
  return { book, mail, look, pay, report, odd, wipe, plan, registry };
}

function durable<Input, Output>(
  config: { readonly strategy?: Strategy<Input, Output>; readonly model?: PromptExecutor; readonly tools: AnyTool[] },
  storage: Storage,
  options: Options,
): AIAgent<Input, Output> {
  const { model = scriptedModel([]), tools, strategy: given } = config;
  return new AIAgent<Input, Output>({
    llmModel: "scripted",
    modelParameters: { temperature: 0 },
    systemPrompt: "Act.",
    promptExecutor: model,
    tools,
    ...(given && { strategy: given }),
  }).install(Persistence, { storage, clock: new SimulatedClock(), inverseRetry: { delayMs: 0 }, ...options });
}

/** A scripted model that counts how often it is asked. */
function scripted(world: World, turns: Parameters<typeof scriptedModel>[0]): PromptExecutor {
  const model = scriptedModel(turns);
  return {
    execute: (request) => {
      world.asked++;
      return model.execute(request);
    },
  };
}

const call = (toolName: string, input: unknown) => ({ toolName, input });

/** The default loop: a booking, three mails and a payment, reports of both sizes and another booking. A second run continues. */
export function desk(world: World, storage: Storage, options: Options = {}): AIAgent {
  const { book, mail, look, pay, report, registry } = toolsOf(world);
  const model = scripted(world, [
    { text: "First.", toolCalls: [call("book", { item: "Alex" }), call("look", { item: "Alex" })] },
    {
      toolCalls: [
        ...["Maria", "Olga", "Peter"].map((name) => call("mail", { item: name })),
        call("pay", { item: "Alex" }),
      ],
    },
    {
      toolCalls: [
        call("report", { lines: 40 }),
        call("report", { lines: 300 }),
        call("book", { item: "Daniel" }),
        call("missing", {}),
      ],
    },
    "done",
    { toolCalls: [call("look", { item: "Olga" })] },
    "done again",
  ]);
  return durable<string, string>({ model, tools: [book, mail, look, pay, report] }, storage, {
    rollbackToolRegistry: registry,
    ...options,
  });
}

const when = storageKey("when", z.date());
const values = storageKey("values", z.unknown());
const text = storageKey("text", z.string());
const spare = storageKey("spare", z.number());

const environment: Environment = {
  workingDirectory: "/fixture",
  hasDirectory: async () => true,
  hashOf: async (path) => (path === "missing.txt" ? undefined : createHash("sha256").update(path).digest("hex")),
  lookUp: async () => ({ found: "1.0.0", satisfied: true }),
};

/** Node code with everything that a line keeps beside messages: storage, decisions, progress, needs, settings, edits. */
export function code(world: World, storage: Storage, options: Options = {}): AIAgent {
  const { book, mail, look, odd, wipe, plan, registry } = toolsOf(world);
  const graph = strategy<string, string>("code", (g) => {
    const gather = g.node("gather", async (input: string, context) => {
      if (input === "lose") await context.tools.call(odd, { item: "o" });
      context.storage.set(when, new Date(0));
      context.storage.set(spare, 1);
      context.storage.set(values, {
        map: new Map<unknown, unknown>([["a", new Set([1n, -0])]]),
        bytes: new Uint8Array([0, 1, 254, 255]),
        url: new URL("https://example.com/a?b=c"),
        nothing: undefined,
        numbers: [Number.NaN, Infinity, -Infinity],
        money: new Money(12n, "EUR"),
      });
      context.recordDecision({ decision: "gather", reason: "nothing is there" });
      context.recordDecision({ decision: "go on" });
      context.setProgress(20, "gathering");
      context.require({ files: ["a.txt", "missing.txt"], environment: { node: ">=20.19", "env:FIXTURE": "*" } });
      const first = await context.tools.call(book, { item: input });
      await persistence(context).createCheckpoint({
        checkpointId: "named",
        lastInput: input,
        lastInputType: z.string(),
      });
      await context.tools.call(plan, { item: "p" });
      await context.tools.call(wipe, { item: "disk" });
      return { $blob: ["not a blob", first.made] };
    });
    const write = g.node("write", async (input: { readonly $blob: readonly string[] }, context) => {
      context.llm.append({ role: "user", content: `write ${input.$blob.join()}` });
      const answer = await context.llm.request();
      context.llm.append(answer);
      context.llm.rewrite((messages) => [
        ...messages.slice(0, 1),
        { role: "user", content: "cut" },
        ...messages.slice(2),
      ]);
      context.storage.delete(spare);
      context.storage.set(text, "long ".repeat(200));
      context.llm.configure({ model: "other", parameters: { temperature: 1 }, tools: [book] });
      const failures = [];
      for (const to of ["no address", "an address"])
        failures.push(
          await context.tools
            .call(mail, { item: to })
            .then(() => "sent")
            .catch((error: Error) => error.name),
        );
      context.llm.append({ role: "user", content: failures.join() });
      context.setProgress(80);
      return answer;
    });
    const send = g.node("send", async (input: unknown, context) => {
      await context.tools.call(book, { item: "last" });
      return `${JSON.stringify(input).length} ${context.storage.get(when)?.toISOString()}`;
    });
    g.edge(g.start, gather);
    g.edge(gather, write);
    g.edge(write, send, {
      when: () => {
        world.assertWhole("edge");
        return true;
      },
    });
    g.edge(send, g.finish);
  });
  const model = scripted(world, [{ toolCalls: [call("book", { item: "m1" }), call("book", { item: "m2" })] }, "two"]);
  return durable({ strategy: graph, model, tools: [book, mail, look, odd, wipe, plan] }, storage, {
    rollbackToolRegistry: registry,
    triggers: [triggers.afterNode(), triggers.beforeDangerousOperation()],
    environment,
    ...options,
  });
}

/** Three nodes that book a, b and c. The input says how the run moves in the second: not at all, `rollback`, `tool` or `point`. */
export function mover(world: World, storage: Storage, options: Options = {}): AIAgent {
  const { book, mail, registry } = toolsOf(world);
  const isBack = () => world.done.some((what) => what.startsWith("undo"));
  const back = tool({
    name: "back",
    description: "goes back to the start",
    inputSchema: z.object({}),
    effect: "idempotent",
    execute: async (_input, { context }) => {
      if (isBack()) return "back";
      const [first] = await persistence(context).getCheckpoints();
      return persistence(context).rollbackToCheckpoint(first?.checkpointId ?? "");
    },
  });
  const graph = strategy<string, string>("moves", (g) => {
    const first = g.node("first", async (input: string, context) => {
      await context.tools.call(book, { item: "a" });
      context.llm.append({ role: "user", content: `first ${input}` });
      return input;
    });
    const second = g.node("second", async (input: string, context) => {
      await context.tools.call(book, { item: "b" });
      context.llm.append({ role: "user", content: `second ${input}` });
      const durableRun = persistence(context);
      if (input === "tool") await context.tools.call(back, {});
      if (input === "rollback" && !isBack())
        return durableRun.rollbackToCheckpoint((await durableRun.getCheckpoints())[0]?.checkpointId ?? "");
      if (input === "point")
        return durableRun.setExecutionPoint({
          nodeId: "last",
          input: "pointed",
          messageHistory: [{ role: "user", content: "a new history" }],
        });
      return input;
    });
    const last = g.node("last", async (input: string, context) => {
      await context.tools.call(book, { item: "c" });
      await context.tools.call(mail, { item: input });
      return `end of ${input}`;
    });
    g.edge(g.start, first);
    g.edge(first, second);
    g.edge(second, last);
    g.edge(last, g.finish);
  });
  return durable({ strategy: graph, tools: [book, mail, back] }, storage, {
    rollbackToolRegistry: registry,
    ...options,
  });
}

const size = z.string().refine((value) => value !== "XXL", "a size that there is");

/** Books, asks for a size and books that; then asks for a confirmation in a tool and for a rate beside it. */
export function shop(world: World, storage: Storage, options: Options = {}): AIAgent {
  const { book, registry } = toolsOf(world);
  const confirm = tool({
    name: "confirm",
    description: "asks a person",
    inputSchema: item,
    effect: "irreversible",
    execute: async (input, { context }) => {
      const sure = await context.requestInput({
        prompt: `${input.item}: sure?`,
        schema: z.object({ sure: z.boolean(), at: z.date() }),
        waitingFor: "human_approval",
      });
      world.act(`confirm ${input.item}`);
      return sure;
    },
  });
  const graph = strategy<string, string>("shop", (g) => {
    const ask = g.node("ask", async (input: string, context) => {
      await context.tools.call(book, { item: input });
      const answer = await context.requestInput({
        id: "size",
        prompt: `which ${input}?`,
        schema: size,
        expiresAt: new Date(Date.UTC(2026, 2, 1)),
      });
      await context.tools.call(book, { item: answer });
      return answer;
    });
    const check = g.node("check", async (input: string, context) => {
      const [{ sure, at }, rate] = await Promise.all([
        context.tools.call(confirm, { item: input }),
        context.requestInput({ id: "rate", prompt: "which rate?", schema: z.bigint(), waitingFor: "external_api" }),
      ]);
      return `${input} ${sure} ${at.toISOString()} ${rate}`;
    });
    g.edge(g.start, ask);
    g.edge(ask, check);
    g.edge(check, g.finish);
  });
  return durable({ strategy: graph, tools: [book, confirm] }, storage, { rollbackToolRegistry: registry, ...options });
}

/** What a task is asked for. */
export interface Errand {
  readonly what: string;
  readonly since: Date;
}

/** The agent of the tasks: two bookings. */
export function errand(world: World, storage: Storage, options: Options = {}): AIAgent<Errand> {
  const { book, registry } = toolsOf(world);
  const graph = strategy<Errand, string>("errand", (g) => {
    const go = g.node("go", async (input: Errand, context) => {
      await context.tools.call(book, { item: `${input.what} 1` });
      return input;
    });
    const end = g.node("end", async (input: Errand, context) => {
      await context.tools.call(book, { item: `${input.what} 2` });
      return `${input.what} since ${input.since.toISOString()}`;
    });
    g.edge(g.start, go);
    g.edge(go, end);
    g.edge(end, g.finish);
  });
  return durable({ strategy: graph, tools: [book] }, storage, { rollbackToolRegistry: registry, ...options });
}

/** Changes files of a folder with the tools of a workspace, and with a command of its own. */
export function editor(world: World, storage: Storage, root: string, options: Options = {}): AIAgent {
  const workspace = new Workspace({ root, ignore: ["*.log"] });
  const shout = tool({
    name: "shout",
    description: "writes every text in capitals",
    inputSchema: z.object({}),
    effect: "idempotent",
    execute: (_input, { context }) =>
      workspace.capture(context, () => {
        world.act("shout");
        for (const name of readdirSync(root).filter((each) => each.endsWith(".txt")))
          writeFileSync(join(root, name), readFileSync(join(root, name), "utf8").toUpperCase());
        return "LOUD";
      }),
  });
  const model = scripted(world, [
    { toolCalls: [call("edit_file", { path: "a.txt", oldText: "one", newText: "two" })] },
    {
      toolCalls: [
        call("write_file", { path: "made/b.txt", content: "b ".repeat(300) }),
        call("delete_file", { path: "old.txt" }),
      ],
    },
    { toolCalls: [call("shout", {})] },
    "edited",
  ]);
  return durable<string, string>({ model, tools: [...workspace.tools, shout] }, storage, {
    participants: [workspace],
    ...options,
  });
}

/** One node that counts to seven, so that there are checkpoints to prune. */
export function counter(world: World, storage: Storage, options: Options = {}): AIAgent {
  const { book, registry } = toolsOf(world);
  const graph = strategy<string, string>("counter", (g) => {
    const count = g.node("count", async (input: string, context) => {
      await context.tools.call(book, { item: input });
      context.llm.append({ role: "user", content: `counted ${input}` });
      context.storage.set(text, `${input} ${"kept ".repeat(/[36]$/.test(input) ? 90 : 1)}`);
      if (input.endsWith("4"))
        await persistence(context).createCheckpoint({ checkpointId: `four of ${context.runId}` });
      const [name = "", at = "0"] = input.split(" ");
      return `${name} ${Number(at) + 1}`;
    });
    g.edge(g.start, count);
    g.edge(count, count, { when: (next) => !next.endsWith(" 7") });
    g.edge(count, g.finish);
  });
  return durable({ strategy: graph, tools: [book] }, storage, { rollbackToolRegistry: registry, ...options });
}
