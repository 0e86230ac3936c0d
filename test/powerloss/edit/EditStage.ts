import {
  AgentBusyError,
  AIAgent,
  type CheckpointTreeNode,
  type DurableAgent,
  Persistence,
  persistence,
  storageKey,
  strategy,
} from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import type { SimulatedFileSystem } from "agent-persistence/testing";
import { z } from "zod";
import type { Crashes } from "../Crashes.ts";
import { Machine } from "../Machine.ts";
import { agentId } from "../Picture.ts";
import { mustSucceed, Violation } from "../Violation.ts";

const large = storageKey("large", z.string());
const edited = "edited ".repeat(100);
const leaseMs = 15_000;
const promptExecutor = { execute: () => Promise.reject(new Error("No model is asked.")) };

/** How a storage differs from the one that is shipped. */
export type StorageChange = (provider: LogPersistenceStorageProvider) => LogPersistenceStorageProvider;

/** When a name was durable, and when an edit was. */
interface Moments {
  readonly begun: number;
  readonly named: number;
  readonly edited: number;
}

/** A device with an agent that has done its work; one of its checkpoints is named and edited. */
export class EditStage {
  readonly fileSystem: SimulatedFileSystem;
  readonly #change: StorageChange;
  readonly #machine: Machine;

  constructor(
    fileSystem: SimulatedFileSystem,
    change: StorageChange = (provider) => provider,
    machine = new Machine(),
  ) {
    this.fileSystem = fileSystem;
    this.#change = change;
    this.#machine = machine;
  }

  async play(): Promise<Moments> {
    const { agent, of } = this.#start();
    await agent.run("a", { runId: "one" });
    const begun = this.fileSystem.position;
    await of.nameCheckpoint("1-2", "before");
    const named = this.fileSystem.position;
    await edit(of);
    return { begun, named, edited: this.fileSystem.position };
  }

  /** After every crash since a moment, the name and the edit are there or not, and both can be made. */
  async explore(moments: Moments, crashes: Crashes): Promise<void> {
    for (const state of crashes.statesOf(this.fileSystem, moments.begun, false)) {
      const promised = { named: state.after >= moments.named, edited: state.after >= moments.edited };
      const restarted = crashes.restart(state, JSON.stringify(promised));
      if (restarted === undefined) continue;
      const machine = state.model === "kill" ? this.#machine : new Machine();
      machine.endAll();
      const next = new EditStage(restarted, this.#change, machine);
      await crashes.check(state, () => next.recover(promised));
    }
  }

  async recover(promised: { readonly named: boolean; readonly edited: boolean }): Promise<void> {
    const { agent, of, clock } = this.#start();
    const found = await this.#assertWhole(of);
    if ((promised.named && found.names === 0) || (promised.edited && found.edits === 0))
      throw new Violation("acknowledged", `a name or an edit is lost: ${JSON.stringify(found)}`);
    const name = () => of.nameCheckpoint("1-2", "before");
    await mustSucceed("usable", () =>
      name().catch((error: unknown) => {
        // Whoever began before the crash cannot be asked any more; it is waited for.
        if (!(error instanceof AgentBusyError)) throw error;
        clock.advance(leaseMs);
        return name();
      }),
    );
    await mustSucceed("usable", () => edit(of));
    const again = await this.#assertWhole(of);
    if (again.edits !== found.edits + 1 || again.names !== 1)
      throw new Violation("idempotent", `${again.edits} edits and ${again.names} names are there`);
    const result = await mustSucceed("usable", () => agent.resume());
    if (result.status !== "completed" || result.output !== `b ${edited}`)
      throw new Violation("the world", `the edited agent came to ${JSON.stringify(result)}`);
  }

  async #assertWhole(of: DurableAgent): Promise<{ readonly names: number; readonly edits: number }> {
    const checkpoints = await mustSucceed("usable", () => of.getCheckpoints());
    const names = checkpoints.filter(({ name }) => name !== undefined);
    if (names.some(({ checkpointId, name }) => checkpointId !== "1-2" || name !== "before"))
      throw new Violation("acknowledged", "another checkpoint has the name");
    const edits = checkpoints.filter(({ move }) => move === "edit");
    for (const { lastInput, storage, by, reason } of edits)
      if (lastInput !== "b" || storage["large"] !== edited || by !== "ann" || reason !== "why")
        throw new Violation("acknowledged", "an edit is not whole");
    const latest = await of.getLatestCheckpoint();
    if (latest?.checkpointId !== checkpoints.at(-1)?.checkpointId) throw new Violation("acknowledged", "another head");
    const heads = [...all(await of.checkpointTree())].filter(({ isHead }) => isHead);
    if (heads.length !== 1 || heads[0]?.checkpointId !== latest?.checkpointId)
      throw new Violation("acknowledged", "the tree has another head");
    return { names: names.length, edits: edits.length };
  }

  #start() {
    const process = this.#machine.start(this.fileSystem);
    const provider = new FilePersistenceStorageProvider({ ...process.options, inlineThresholdBytes: 200 });
    const agent = new AIAgent({ id: agentId, llmModel: "none", promptExecutor, strategy: steps });
    agent.install(Persistence, { storage: this.#change(provider), clock: process.clock });
    return { agent, of: persistence(agent).agent(), clock: process.clock };
  }
}

function edit(of: DurableAgent) {
  return of.editCheckpoint("before", {
    by: "ann",
    reason: "why",
    lastInput: "b",
    storage: (values) => values.set(large, edited),
  });
}

function* all(roots: readonly CheckpointTreeNode[]): Generator<CheckpointTreeNode> {
  for (const node of roots) {
    yield node;
    yield* all(node.children);
  }
}

const steps = strategy<string, string>("steps", (graph) => {
  const first = graph.node("first", (text: string) => text);
  const second = graph.node("second", (text: string, context) => `${text} ${context.storage.get(large) ?? ""}`);
  graph.edge(graph.start, first);
  graph.edge(first, second);
  graph.edge(second, graph.finish);
});
