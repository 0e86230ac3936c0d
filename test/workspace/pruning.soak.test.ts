import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  Persistence,
  persistence,
  storageKey,
  strategy,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { scriptedModel } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { logStorages } from "../persistence/support/storages.ts";
import { cases } from "../soak/cases.ts";
import { temporaryFolder, treeOf } from "./fixture.ts";

const stepKey = storageKey("step", z.number());
const policy = { maxCheckpoints: 4 };

/** Steps that each change a few of seven files, and remember how the folder was after each. */
class Editing {
  readonly root = temporaryFolder();
  readonly trees = new Map<number, Readonly<Record<string, string>>>();
  readonly storage: LogPersistenceStorageProvider;
  /** The step before each checkpoint: pruning may take the one away that says so. */
  readonly #stepAt = new Map<string, number>();
  #step = 0;
  #until = 0;
  #runs = 0;

  constructor(storage: LogPersistenceStorageProvider) {
    this.storage = storage;
    for (let at = 0; at < 7; at++) this.#write(at, `file ${at} at first`);
    this.trees.set(0, treeOf(this.root));
  }

  async run(steps: number): Promise<void> {
    this.#until = this.#step + steps;
    await this.#agent().run(`${++this.#runs}`, { runId: `r${this.#runs}`, unfinished: "abandon", history: "continue" });
    await this.#remember();
  }

  get durable() {
    return persistence(this.#agent());
  }

  /** Checkpoints on the way to the latest, newest first. */
  async ancestors() {
    const checkpoints = await this.durable.agent().getCheckpoints();
    const byId = new Map(checkpoints.map((checkpoint) => [checkpoint.checkpointId, checkpoint]));
    const found: (typeof checkpoints)[number][] = [];
    for (let at = checkpoints.at(-1); at; at = byId.get(at.parentId ?? "")) found.push(at);
    return found;
  }

  /** Goes back. @returns what is in the folder then, and what was there at that checkpoint. */
  async goBackTo(checkpointId: string) {
    const step = this.#stepAt.get(checkpointId) ?? 0;
    await this.durable.agent().rollbackToCheckpoint(checkpointId);
    await this.#remember();
    return { found: treeOf(this.root), expected: this.trees.get(step) };
  }

  /** The blobs that contents are packed in, as far as they are there. */
  async packs(): Promise<readonly string[]> {
    const texts: string[] = [];
    for await (const { records } of this.storage.log.read("a")) texts.push(JSON.stringify(records));
    const named = new Set(texts.join().match(/blob:\/\/[0-9a-f]{64}-\d+/g));
    const there = await Promise.all(
      [...named].map(async (blob) => (await this.storage.log.blobs.get("a", blob)) && blob),
    );
    return there.filter((blob) => blob !== undefined);
  }

  async #remember(): Promise<void> {
    for (const { checkpointId, parentId = "", storage } of (await this.ancestors()).toReversed()) {
      const step = (storage["step"] as number | undefined) ?? this.#stepAt.get(parentId) ?? 0;
      if (!this.#stepAt.has(checkpointId)) this.#stepAt.set(checkpointId, step);
    }
  }

  #agent() {
    const workspace = new Workspace({ root: this.root });
    const plan = strategy<string, string>("editing", (graph) => {
      const edit = graph.node("edit", async (text: string, context) => {
        await workspace.capture(context, () => this.#edit());
        context.storage.set(stepKey, this.#step);
        this.trees.set(this.#step, treeOf(this.root));
        return text;
      });
      graph.edge(graph.start, edit);
      graph.edge(edit, edit, { when: () => this.#step < this.#until });
      graph.edge(edit, graph.finish, { when: () => this.#step >= this.#until });
    });
    return new AIAgent({
      id: "a",
      llmModel: "m",
      promptExecutor: scriptedModel([]),
      strategy: plan,
      maxIterations: 1_000,
    }).install(Persistence, { storage: this.storage, participants: [workspace] });
  }

  #edit(): void {
    const step = ++this.#step;
    this.#write(step % 7, `file ${step % 7} at ${step}`);
    this.#write(0, `always another: ${step}`);
    if (step % 3 === 0) rmSync(join(this.root, `f${(step + 3) % 7}`), { force: true });
  }

  #write(at: number, text: string): void {
    writeFileSync(join(this.root, `f${at}`), text);
  }
}

function expectSame({ found, expected }: Awaited<ReturnType<Editing["goBackTo"]>>): void {
  expect(found).toEqual(expected);
}

describe.each(logStorages)("files of a pruned agent, $name", ({ open }) => {
  it("a pruned workspace rolls files back to each kept checkpoint and drops other contents", async () => {
    let targets = 1;
    for (let at = 0; at < targets; at++) {
      const editing = new Editing((await open())());
      await editing.run(40);
      const before = await editing.packs();
      const { pruned } = await editing.durable.prune({ policy });
      const after = await editing.packs();
      expect(after.length).toBeLessThan(before.length / 2);
      expect(pruned[0]?.bytes).toBeGreaterThan(1_000);
      const kept = await editing.ancestors();
      targets = kept.length;
      expectSame(await editing.goBackTo(kept[at]?.checkpointId ?? ""));
    }
    expect(targets).toBe(3);
  });

  it("pruned contents are stored again when a file contains them again", async () => {
    const editing = new Editing((await open())());
    await editing.run(30);
    await editing.durable.prune({ policy });
    await editing.run(30);
    await editing.durable.prune({ policy });
    for (const { checkpointId } of await editing.ancestors()) expectSame(await editing.goBackTo(checkpointId));
  });
});

it("workspace files roll back after any sequence of runs, rollbacks and prunings", async () => {
  const action = fc.oneof(
    fc.record({ kind: fc.constant("run" as const), steps: fc.integer({ min: 1, max: 12 }) }),
    fc.record({ kind: fc.constant("back" as const), by: fc.nat({ max: 8 }) }),
    fc.record({ kind: fc.constant("prune" as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 4, maxLength: 9 }), fc.nat(), async (actions, target) => {
      const editing = new Editing(new InMemoryPersistenceStorageProvider());
      await editing.run(9);
      const someAncestor = async (at: number) => {
        const found = await editing.ancestors();
        return found[at % found.length]?.checkpointId ?? "";
      };
      for (const each of actions) {
        if (each.kind === "run") await editing.run(each.steps);
        else if (each.kind === "back") expectSame(await editing.goBackTo(await someAncestor(each.by)));
        else await editing.durable.prune({ policy });
      }
      expectSame(await editing.goBackTo(await someAncestor(target)));
    }),
    { numRuns: cases(3, 10) },
  );
});
