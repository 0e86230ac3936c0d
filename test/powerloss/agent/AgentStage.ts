import {
  AgentBusyError,
  persistence,
  RollbackIncompleteError,
  ToolCallInDoubtError,
  type AIAgent,
  type ToolEffect,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { FilePersistenceStorageProvider, type FileSystem } from "agent-persistence/file";
import type { SimulatedFileSystem } from "agent-persistence/testing";
import { AgentWorld, type WorldEvent } from "./AgentWorld.ts";
import { bookingAgent } from "./bookingAgent.ts";
import { Machine } from "../Machine.ts";

type Agent = AIAgent<string, string>;

/** How the agent, and what it stores, differ from one to the next. */
export interface AgentVariant {
  readonly effect: ToolEffect;
  readonly wrap?: (fileSystem: FileSystem) => FileSystem;
  readonly storage?: (provider: LogPersistenceStorageProvider) => LogPersistenceStorageProvider;
}

/** What is asked of the agent, one after the other. Each may be asked again when the answer was lost. */
const script: readonly ((agent: Agent) => Promise<unknown>)[] = [
  run,
  async (agent) => {
    const stored = persistence(agent).agent();
    const checkpoints = await stored.getCheckpoints();
    const target = checkpoints.filter(({ nodeId }) => nodeId === "callModel")[1];
    return stored.rollbackToCheckpoint(target?.checkpointId ?? "none");
  },
  run,
];

function run(agent: Agent): Promise<unknown> {
  return agent.run("book everything", { runId: "one" });
}

/** A device, what was asked of the agent on it so far, and what the agent did. */
export class AgentStage {
  readonly fileSystem: SimulatedFileSystem;
  readonly variant: AgentVariant;
  readonly machine: Machine;
  readonly world: AgentWorld;
  /** When each request was answered. */
  readonly #answeredAt: number[];
  #isInDoubt = false;

  constructor(
    fileSystem: SimulatedFileSystem,
    variant: AgentVariant,
    before: { readonly machine?: Machine; readonly events?: readonly WorldEvent[]; readonly answered?: number } = {},
  ) {
    const { machine = new Machine(), events = [], answered = 0 } = before;
    this.fileSystem = fileSystem;
    this.variant = variant;
    this.machine = machine;
    this.world = new AgentWorld(() => fileSystem.position, events);
    this.#answeredAt = Array.from({ length: answered }, () => 0);
  }

  /** The agent has stopped since it cannot know whether a call had its effect. */
  get isInDoubt(): boolean {
    return this.#isInDoubt;
  }

  /** How many requests had been answered when the files were so far. */
  answeredUntil(moment: number): number {
    return this.#answeredAt.filter((at) => at <= moment).length;
  }

  /** Asks what has not been answered yet, and the last thing once more. */
  async play(): Promise<void> {
    const { ask } = this.#start();
    for (const request of script.slice(this.#answeredAt.length)) {
      if (!(await ask(request))) return;
      this.#answeredAt.push(this.fileSystem.position);
    }
    await ask(run);
  }

  /** What a process finds that only reads. */
  storage(): LogPersistenceStorageProvider {
    return this.#start().storage;
  }

  #start(): {
    storage: LogPersistenceStorageProvider;
    ask: (request: (agent: Agent) => Promise<unknown>) => Promise<boolean>;
  } {
    const { wrap = (fileSystem) => fileSystem, storage: change = (provider) => provider, effect } = this.variant;
    const process = this.machine.start(wrap(this.fileSystem));
    const storage = change(new FilePersistenceStorageProvider(process.options));
    const agent = bookingAgent(this.world, storage, { effect, clock: process.clock });
    const ask = async (request: (agent: Agent) => Promise<unknown>): Promise<boolean> => {
      try {
        await request(agent);
        return true;
      } catch (error) {
        if (error instanceof AgentBusyError) process.clock.advance(error.retryAfterMs);
        else if (isDoubt(error)) this.#isInDoubt = true;
        else throw error;
        return this.#isInDoubt ? false : ask(request);
      }
    };
    return { storage, ask };
  }
}

/** Of a call, or of an inverse that a rollback stopped at. */
function isDoubt(error: unknown): boolean {
  if (error instanceof RollbackIncompleteError) return error.failed.some((call) => isDoubt(call.error));
  return error instanceof ToolCallInDoubtError;
}
