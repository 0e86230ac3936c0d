import {
  AIAgent,
  type AgentContext,
  type AnyTool,
  Persistence,
  persistence,
  type PersistenceStorageProvider,
  RollbackToolRegistry,
  type RunResult,
  type Strategy,
  tool,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { crashAfter, scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { z } from "zod";
import { durableAgent } from "../../support/durableAgent.ts";
import { World } from "../../support/World.ts";
import { eventsFor, type ProgramEvent } from "./eventsFor.ts";
import { timeStrategy } from "./timeStrategy.ts";
import type { Act, Disturbance, Step } from "./TimeProgram.ts";

type Storage = LogPersistenceStorageProvider;

const hour = 3_600_000;
const sleepInProcessMs = 5;
const schema = z.string();

/** The errors of a process that crashed, was stopped, came second, or had nothing to do. */
const expected = new Set(["simulated_crash", "stop_requested", "agent_busy", "ownership_lost", "not_an_ancestor"]);

/** A called agent that crashed fails its call, so the error can be a cause. */
function isExpected(error: unknown): boolean {
  const { code = "", cause } = error as { readonly code?: string; readonly cause?: unknown };
  return expected.has(code) || (cause !== undefined && isExpected(cause));
}

/** The world of a program with timers and events. One process runs the program after another. */
export class TimeWorld extends World {
  /** What was not as it has to be. */
  readonly problems: string[] = [];
  hasRolledBack = false;
  readonly #clock = new SimulatedClock();
  readonly #opened: () => Storage;
  readonly #events: readonly ProgramEvent[];
  readonly #graph: Strategy<string, string>;
  readonly #itemOf = new Map<string, string>();
  readonly #book = this.adder("book", "idempotent");
  readonly #note = this.adder("note", "idempotent");
  readonly #nap = tool({
    name: "nap",
    description: "",
    inputSchema: z.object({ item: z.string(), ms: z.number() }),
    effect: "idempotent",
    execute: async ({ item, ms }, options) => {
      await options.context.sleep(ms);
      return this.add(item, options, "nap");
    },
  });
  readonly #registry = new RollbackToolRegistry();
  readonly #calledTools: AnyTool[] = [];
  #sent = 0;
  #actsUntilStop = 0;
  #onStop: () => unknown = () => undefined;

  constructor(steps: readonly Step[], opened: () => Storage) {
    super();
    for (const each of [this.#book, this.#note, this.#nap])
      this.#registry.registerRollback(each, ({ item }, { toolCallId }) => this.remove(toolCallId, item), {
        effect: "idempotent",
      });
    this.#opened = opened;
    this.#events = eventsFor(steps);
    this.#graph = timeStrategy(steps, {
      perform: (act, path, context) => this.#perform(act, path, context),
      called: (strategy) => this.#called(strategy),
    });
  }

  override add(...[item, options, name]: Parameters<World["add"]>): { readonly made: string } {
    const known = this.#itemOf.get(options.toolCallId);
    if (known !== undefined && known !== item) this.problems.push(`one call for "${known}" and "${item}"`);
    this.#itemOf.set(options.toolCallId, item);
    return super.add(item, options, name);
  }

  /** The effects that are the same in each run of the program. The winners of races are not. */
  get settledItems(): readonly string[] {
    return [...this.effects.values()].flatMap(({ tool: name, item }) => (name === "note" ? [] : [item])).sort();
  }

  async disturb({ kind, saves, at }: Disturbance): Promise<void> {
    const crashing = () => crashAfter(this.#opened(), saves);
    switch (kind) {
      case "run":
        return void (await this.#pass([this.#run(crashing())]));
      case "two runs":
        return void (await this.#pass([this.#run(crashing()), this.#run(crashAfter(this.#opened(), at))]));
      case "send":
        return this.#sendNext(crashing());
      case "send again":
        return void (await this.#pass([this.#send(this.#events.slice(0, this.#sent)[at], crashing())]));
      case "stop":
        return void (await this.#pass([this.#stop(crashing())]));
      case "stop a run":
        return this.#stopRun(saves, at);
      case "wait":
        return this.#clock.advance(at * hour);
      case "jump":
        return this.#clock.jump((at - 4) * 6 * hour);
      case "roll back":
        return void (await this.#pass([this.#rollBack(at, crashing())]));
    }
  }

  /** Sends all events that were not sent, and runs the program to its end. */
  async finish(): Promise<string> {
    while (this.#sent < this.#events.length) await this.#sendNext(this.#opened());
    for (;;) {
      const [result] = await this.#pass([this.#run(this.#opened())]);
      if (result === undefined) throw new Error("The last run was disturbed.");
      if (result.status === "completed") return result.output;
      if (result.status !== "waiting") continue;
      const due = result.requests.map((request) => Date.parse(dueAt(request) ?? "")).filter((ms) => ms >= 0);
      if (due.length === 0) throw new Error("The program waits for events that were sent.");
      this.#clock.advance(Math.max(0, Math.min(...due) - this.#clock.now()));
    }
  }

  #agent(storage: PersistenceStorageProvider): AIAgent<string, string> {
    const tools = [this.#book, this.#note, this.#nap, ...this.#calledTools];
    const settings = { clock: this.#clock, sleepInProcessMs, registry: this.#registry, maxIterations: 1_000 };
    return durableAgent(this.#graph, storage, { tools, ...settings });
  }

  #called(strategy: Strategy<string, string>) {
    const tools = [this.#book, this.#note, this.#nap];
    const config = { llmModel: "m", promptExecutor: scriptedModel([]), strategy, tools };
    const agent = new AIAgent(config).install(Persistence, { rollbackToolRegistry: this.#registry });
    const inputSchema = z.object({ topic: z.string() });
    const called = agent.asTool({ name: strategy.name, description: "", inputSchema, input: ({ topic }) => topic });
    this.#calledTools.push(called);
    return called;
  }

  #run(storage: PersistenceStorageProvider): Promise<RunResult<string>> {
    return this.#agent(storage).run("go", { runId: "r" });
  }

  async #sendNext(storage: PersistenceStorageProvider): Promise<void> {
    const [isSent] = await this.#pass([this.#send(this.#events[this.#sent], storage)]);
    if (isSent) this.#sent++;
  }

  async #send(event: ProgramEvent | undefined, storage: PersistenceStorageProvider): Promise<boolean> {
    if (!event) return false;
    await persistence(this.#agent(storage)).agent().send(event.name, event.payload, { key: event.payload });
    return true;
  }

  async #stop(storage: PersistenceStorageProvider): Promise<void> {
    await persistence(this.#agent(storage)).agent().stop({ reason: "stop" });
  }

  /** Stops a run of another process at one of its acts. */
  async #stopRun(saves: number, at: number): Promise<void> {
    let stopping: Promise<void> = Promise.resolve();
    this.#actsUntilStop = at + 1;
    this.#onStop = () => (stopping = this.#stop(crashAfter(this.#opened(), saves)));
    const running = this.#run(this.#opened()).finally(() => (this.#actsUntilStop = 0));
    await this.#pass([running]);
    await this.#pass([stopping]);
  }

  async #rollBack(at: number, storage: PersistenceStorageProvider): Promise<void> {
    const durable = persistence(this.#agent(storage)).agent();
    const { checkpointId } = (await durable.getCheckpoints())[at] ?? {};
    if (checkpointId === undefined) return;
    this.hasRolledBack = true;
    await durable.rollbackToCheckpoint(checkpointId);
  }

  /** Resolves to the results. The clock passes a millisecond whenever nothing else goes on. */
  async #pass<Result>(running: readonly Promise<Result>[]): Promise<readonly (Result | undefined)[]> {
    let open = running.length;
    const ends = running.map((each) =>
      each
        .catch((error: unknown) => {
          if (!isExpected(error)) throw error;
          return undefined;
        })
        .finally(() => open--),
    );
    const all = Promise.all(ends);
    all.catch(() => undefined);
    while (open > 0) {
      for (let turn = 0; turn < 25 && open > 0; turn++) await new Promise((resolve) => setImmediate(resolve));
      if (open > 0) this.#clock.advance(1);
    }
    return all;
  }

  async #perform({ kind, ms }: Act, path: string, context: AgentContext): Promise<string> {
    if (--this.#actsUntilStop === 0) this.#onStop();
    switch (kind) {
      case "book":
        return (await context.tools.call(this.#book, { item: path })).made;
      case "nap":
        return (await context.tools.call(this.#nap, { item: path, ms: ms > 6 ? ms * hour : ms })).made;
      case "sleep":
        return context.sleep(ms).then(() => "slept");
      case "sleep long":
        return context.sleepUntil(new Date(this.#clock.now() + ms * hour)).then(() => "slept");
      case "receive":
        return context.receive(path, { schema });
      case "receive none":
        return (await context.receive("none", { schema, timeoutMs: (ms - 1) * hour })) ?? "none";
      case "race": {
        const lost = context.receive(`race ${path}`, { schema });
        const item = await Promise.race([lost, context.sleep(ms).then(() => `slept at ${path}`)]);
        await context.tools.call(this.#note, { item });
        return "raced";
      }
    }
  }
}

const dueAt = (request: { readonly dueAt?: string; readonly expiresAt?: string }) => request.dueAt ?? request.expiresAt;
