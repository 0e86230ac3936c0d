import {
  AgentBusyError,
  AIAgent,
  Persistence,
  persistence,
  RollbackToolRegistry,
  storageKey,
  strategy,
  tool,
  type AgentCheckpointData,
  type AnyTool,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import type { SimulatedFileSystem } from "agent-persistence/testing";
import { z } from "zod";
import type { Crashes } from "../Crashes.ts";
import { Machine } from "../Machine.ts";
import { agentId } from "../Picture.ts";
import { mustSucceed, Violation } from "../Violation.ts";

const rounds = 9;
const large = storageKey("large", z.string());
const policy = { maxCheckpoints: 4 };
const leaseMs = 15_000;

/** How a storage differs from the one that is shipped. */
export type StorageChange = (provider: LogPersistenceStorageProvider) => LogPersistenceStorageProvider;

/** A device with an agent that has done its work, and is pruned. */
export class PruneStage {
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

  /** Works, leaves a blob behind that a crash kept from being named, and is pruned. @returns when pruning began. */
  async play(): Promise<number> {
    const { agent, log } = this.#start();
    await agent.run("go", { runId: "one" });
    const orphan = await log.blobs.put(agentId, 1, Buffer.from("put before a crash"));
    const { position } = this.fileSystem;
    await persistence(agent).prune({ policy });
    if (await log.blobs.get(agentId, orphan)) throw new Violation("acknowledged", "a blob that nobody names is left");
    return position;
  }

  /** After every crash since a moment, the agent is as it was before or after pruning, and can be pruned. */
  async explore(from: number, crashes: Crashes, kept?: ReadonlyMap<number, string>): Promise<void> {
    const expected = kept ?? (await this.pictures());
    for (const state of crashes.statesOf(this.fileSystem, from, false)) {
      const restarted = crashes.restart(state, "");
      if (restarted === undefined) continue;
      const machine = state.model === "kill" ? this.#machine : new Machine();
      machine.endAll();
      const next = new PruneStage(restarted, this.#change, machine);
      await crashes.check(state, () => next.recover(expected));
    }
  }

  /** What each checkpoint says, by its version. */
  async pictures(): Promise<ReadonlyMap<number, string>> {
    return new Map((await this.#checkpoints()).map((data) => [data.version, pictureOf(data)]));
  }

  /** @param kept the checkpoints that pruning keeps. */
  async recover(kept: ReadonlyMap<number, string>): Promise<void> {
    const found = await mustSucceed("usable", () => this.#checkpoints());
    const counts = [kept.size, rounds + 1];
    if (!counts.includes(found.length)) throw new Violation("acknowledged", `${found.length} checkpoints are left`);
    await this.#assertKept(kept);
    const { agent, clock, log } = this.#start();
    const prune = () => mustSucceed("usable", () => persistence(agent).prune({ policy }));
    if ((await prune()).busy.length > 0) {
      // Whoever began before the crash cannot be asked any more; it is waited for.
      clock.advance(leaseMs);
      await prune();
    }
    await this.#assertKept(kept);
    if ((await log.unremovedBytes?.(agentId)) !== 0)
      throw new Violation("acknowledged", "bytes of the pruning that a crash cut short are left");
    const left = await this.#checkpoints();
    if (left.length !== kept.size) throw new Violation("idempotent", `${left.length} checkpoints are left at the end`);
    const first = left[0]?.checkpointId ?? "";
    const rollBack = () => persistence(agent).agent().rollbackToCheckpoint(first);
    const { reverted } = await mustSucceed("usable", () =>
      rollBack().catch((error: unknown) => {
        if (!(error instanceof AgentBusyError)) throw error;
        clock.advance(leaseMs);
        return rollBack();
      }),
    );
    if (reverted.length !== rounds)
      throw new Violation("the world", `${reverted.length} of ${rounds} calls were reverted`);
  }

  async #assertKept(kept: ReadonlyMap<number, string>): Promise<void> {
    const pictures = await mustSucceed("usable", () => this.pictures());
    for (const [version, picture] of kept)
      if (pictures.get(version) !== picture) throw new Violation("acknowledged", `checkpoint ${version} is another`);
  }

  #checkpoints(): Promise<readonly AgentCheckpointData[]> {
    return persistence(this.#agent()).agent().getCheckpoints();
  }

  #agent(): AIAgent<string, string> {
    return this.#start().agent;
  }

  #start() {
    const process = this.#machine.start(this.fileSystem);
    const provider = new FilePersistenceStorageProvider({
      ...process.options,
      inlineThresholdBytes: 200,
      compressThresholdBytes: 400,
    });
    const book = tool({
      name: "book",
      description: "",
      inputSchema: z.object({ at: z.number() }),
      effect: "idempotent",
      execute: ({ at }) => at,
    });
    const agent = new AIAgent({
      id: agentId,
      llmModel: "none",
      promptExecutor,
      tools: [book],
      strategy: bookings(book),
    }).install(Persistence, {
      storage: this.#change(provider),
      clock: process.clock,
      rollbackToolRegistry: new RollbackToolRegistry().registerRollback(book, () => undefined, {
        effect: "idempotent",
      }),
    });
    return { agent, clock: process.clock, log: provider.log };
  }
}

const promptExecutor = { execute: () => Promise.reject(new Error("No model is asked.")) };

function bookings(book: AnyTool) {
  return strategy<string, string>("bookings", (g) => {
    const turn = g.node("turn", async (at: number, context) => {
      context.storage.set(large, `${at} ${"large ".repeat(at % 2 === 0 ? 50 : 90)}`);
      context.llm.rewrite((messages) => [...messages.slice(-1), { role: "user", content: `round ${at}` }]);
      await context.tools.call(book, { at } as never);
      return at + 1;
    });
    g.edge(g.start, turn, { map: () => 1 });
    g.edge(turn, turn, { when: (at) => at <= rounds });
    g.edge(turn, g.finish, { when: (at) => at > rounds, map: String });
  });
}

/** All that is read back, without what depends on which others there are. */
function pictureOf({ parentId: _parent, toolCalls: _calls, ...rest }: AgentCheckpointData): string {
  return JSON.stringify(rest);
}
