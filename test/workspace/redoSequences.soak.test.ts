import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, it } from "vitest";
import {
  persistence,
  RollbackToolRegistry,
  storageKey,
  strategy,
  type AgentContext,
  type PersistenceStorageProvider,
} from "agent-persistence";
import { RunNotOpenError } from "agent-persistence/errors";
import { crashAfter } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import { z } from "zod";
import { durableAgent, Stopped } from "../persistence/support/durableAgent.ts";
import { logStorages } from "../persistence/support/storages.ts";
import { World } from "../persistence/support/World.ts";
import { storageAt } from "../storage/engines/storageAt.ts";
import { temporaryFolder, treeOf } from "./fixture.ts";
import { cases } from "../soak/cases.ts";

/** The work of a step: files that it writes, deletes or moves. */
type Write = (write: (tool: string, input: object) => Promise<unknown>, uid: string) => Promise<unknown>;

const writes: readonly Write[] = [
  (write, uid) => write("write_file", { path: "a", content: uid }),
  (write, uid) => write("write_file", { path: `${uid}/deep`, content: uid }),
  (write) => write("delete_file", { path: "a" }).catch(() => undefined),
  (write, uid) => write("write_file", { path: "b", content: `b ${uid}` }),
  (write, uid) => write("move_file", { from: "b", to: `c${uid}` }).catch(() => undefined),
];

const depth = storageKey("depth", z.number());
const stepsOfRun = 5;

/** Steps that write files and book something. Each has an id of its own, which its message says. */
class Steps {
  readonly root = temporaryFolder();
  readonly world = new World();
  /** How many steps may be made until the process ends. */
  budget = 0;
  #uids = 0;

  process(storage: PersistenceStorageProvider) {
    const workspace = new Workspace({ root: this.root });
    const book = this.world.adder("book", "irreversible");
    const inverse = ({ item }: { readonly item: string }, { toolCallId }: { readonly toolCallId: string }) =>
      this.world.remove(toolCallId, item);
    const registry = new RollbackToolRegistry().registerRollback(book, inverse, { effect: "idempotent" });
    const graph = strategy<string, string>("steps", (g) => {
      const step = g.node("step", async (_input: string, context: AgentContext) => {
        if (this.budget-- <= 0) throw new Stopped("stopped");
        const at = (context.storage.get(depth) ?? 0) + 1;
        const uid = `u${++this.#uids}`;
        const change = writes[this.#uids % writes.length];
        await context.tools.call(book, { item: uid });
        const toolOf = (name: string) => workspace.tools.find((tool) => tool.name === name);
        await change?.((name, given) => context.tools.call(toolOf(name) as never, given as never), uid);
        context.llm.append({ role: "user", content: uid });
        context.storage.set(depth, at);
        return at < stepsOfRun ? "more" : "end";
      });
      g.edge(g.start, step);
      g.edge(step, step, { when: (output) => output === "more" });
      g.edge(step, g.finish);
    });
    const tools = [book, ...workspace.tools];
    const agent = durableAgent(graph, storage, { tools, registry, participants: [workspace], maxIterations: 1000 });
    return { agent, saved: persistence(agent).agent() };
  }
}

/** What an agent with its world should be like. */
class Model {
  /** By the id of a checkpoint: the ids of the steps that lead there. */
  readonly paths = new Map<string, readonly string[]>();
  /** By the last step: the files after it. */
  readonly files = new Map<string | undefined, object>();
  standing: readonly string[] = [];
  head = "";
}

type Act =
  | { readonly kind: "go"; readonly steps: number }
  | { readonly kind: "move"; readonly to: number; readonly saves: number | undefined };

class Life {
  readonly steps = new Steps();
  readonly model = new Model();
  #crashes = 0;

  constructor(readonly open: () => PersistenceStorageProvider) {
    writeFileSync(join(this.steps.root, "a"), "start");
    this.model.files.set(undefined, treeOf(this.steps.root));
  }

  async act(act: Act): Promise<void> {
    if (act.kind === "go") for (let step = 0; step < act.steps; step++) await this.#step();
    else await this.#move(act);
    await this.#expect();
  }

  /** One at a time, so that the files at each checkpoint are seen. */
  async #step(): Promise<void> {
    const { steps, model } = this;
    steps.budget = 1;
    const { agent, saved } = steps.process(this.open());
    await agent
      .resume()
      .catch((error: unknown) => {
        if (!(error instanceof RunNotOpenError)) throw error;
        return agent.run("go");
      })
      .catch((error: unknown) => {
        if (!(error instanceof Stopped)) throw error;
      });
    for (const { checkpointId, messageHistory } of await saved.getCheckpoints())
      model.paths.set(
        checkpointId,
        messageHistory.map(({ content }) => content as string),
      );
    const made = this.#pathOf((await saved.getLatestCheckpoint())?.checkpointId).at(-1);
    if (model.files.has(made) || made === undefined) return;
    model.files.set(made, treeOf(steps.root));
    model.standing = [...model.standing, made];
  }

  async #move({ to, saves }: Act & { readonly kind: "move" }): Promise<void> {
    const { model, steps } = this;
    const ids = [...model.paths.keys()];
    const target = ids[to % Math.max(1, ids.length)];
    if (target === undefined) return;
    const before = this.#pathOf(model.head);
    if (saves !== undefined) {
      this.#crashes++;
      const crashing = steps.process(crashAfter(this.open(), saves));
      await crashing.saved.rollbackToCheckpoint(target).catch(() => undefined);
    }
    const { saved } = steps.process(this.open());
    const report = await saved.rollbackToCheckpoint(target);
    const path = this.#pathOf(target);
    const { length } = commonPath(before, path);
    const gone = path.filter((uid, at) => at >= length && !model.standing.includes(uid));
    // The same rollback, asked for again, gives its report again.
    if (length < path.length && saves === undefined) {
      assert.deepEqual(this.#pathOf(report.commonAncestorId), path.slice(0, length));
      assert.deepEqual(report.stayedReverted.map(itemOf), gone.toReversed());
    }
    model.standing = model.standing.filter((uid) => path.includes(uid));
    model.paths.set((await saved.getLatestCheckpoint())?.checkpointId ?? "", path);
  }

  async #expect(): Promise<void> {
    const { model, steps } = this;
    const { saved } = steps.process(this.open());
    const latest = await saved.getLatestCheckpoint();
    model.head = latest?.checkpointId ?? "";
    assert.deepEqual(steps.world.items, [...model.standing].sort());
    // An inverse that a crash interrupted runs again.
    const { undone } = steps.world;
    assert.ok(undone.length - new Set(undone).size <= this.#crashes, "an inverse ran again");
    assert.deepEqual(latest?.messageHistory.map(({ content }) => content) ?? [], this.#pathOf(model.head));
    assert.deepEqual(treeOf(steps.root), model.files.get(this.#pathOf(model.head).at(-1)));
  }

  #pathOf(checkpointId = ""): readonly string[] {
    return this.model.paths.get(checkpointId) ?? [];
  }
}

function itemOf({ input }: { readonly input: unknown }): string {
  return (input as { readonly item: string }).item;
}

function commonPath(one: readonly string[], other: readonly string[]): readonly string[] {
  const end = one.findIndex((uid, at) => uid !== other[at]);
  return end < 0 ? one : one.slice(0, end);
}

const acts: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant("go" as const), steps: fc.integer({ min: 1, max: 4 }) }),
  fc.record({
    kind: fc.constant("move" as const),
    to: fc.nat(40),
    saves: fc.option(fc.nat(9), { nil: undefined, freq: 2 }),
  }),
  fc.record({ kind: fc.constant("move" as const), to: fc.nat(40), saves: fc.constant(undefined) }),
);

const storages = [
  ...logStorages,
  {
    name: "sqlite",
    open: async () => {
      const storage = await storageAt({ engine: "sqlite", file: join(temporaryFolder(), "agents.db") });
      return () => storage;
    },
  },
];

describe.each(storages)("rollbacks and redos in any order, $name", ({ name, open }) => {
  it("restore messages and files and revert each call once, even after crashes", async () => {
    const few = name === "memory" ? 4 : 2;
    await fc.assert(
      fc.asyncProperty(fc.array(acts, { minLength: 3, maxLength: 12 }), async (sequence) => {
        const life = new Life(await open());
        await life.act({ kind: "go", steps: 3 });
        for (const act of sequence) await life.act(act);
      }),
      { numRuns: cases(few, few * 25) },
    );
  });
});
