import {
  persistence,
  RequestRejectedError,
  RollbackToolRegistry,
  type AIAgent,
  type PersistenceStorageProvider,
  type RunResult,
  type ToolCallInDoubt,
  type ToolCallSettlement,
} from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { z } from "zod";
import { asking } from "../support/asking.ts";
import { durableAgent } from "../support/durableAgent.ts";
import type { Opened } from "../support/storages.ts";
import { World } from "../support/World.ts";

/** An answer that was acknowledged. */
interface GivenAnswer {
  readonly agentId: string;
  readonly value: string;
  /** A later call may have dropped it. */
  dropped: boolean;
}

/** Agents that book a room, ask for a color and book paint of it, in one node. Each call of `agent` is another process. */
export class VerbWorld {
  readonly world = new World();
  readonly answers: GivenAnswer[] = [];
  /** The answers that nodes got. */
  readonly got: string[] = [];
  readonly opened: Opened<LogPersistenceStorageProvider>;
  #answers = 0;

  constructor(opened: Opened<LogPersistenceStorageProvider>) {
    this.opened = opened;
  }

  agent(storage: PersistenceStorageProvider = this.opened()): AIAgent<string, string> {
    const book = this.world.adder("book", "irreversible");
    const registry = new RollbackToolRegistry().registerRollback(book, ({ item }, { toolCallId }) =>
      this.world.remove(toolCallId, item),
    );
    const graph = asking(async (input, context) => {
      await context.tools.call(book, { item: "room" });
      const asked = context.requestInput({ prompt: "which color?", schema: z.string() });
      const color = await asked.catch((error: unknown) => {
        if (error instanceof RequestRejectedError) return "no";
        throw error;
      });
      this.got.push(color);
      await context.tools.call(book, { item: `${color} paint` });
      return `${input}: ${color}`;
    });
    return durableAgent(graph, storage, { tools: [book], registry });
  }

  /** What really became of a call, or of the call that an inverse reverts. */
  truthOf({ toolCallId, reverts, input }: ToolCallInDoubt): ToolCallSettlement {
    const stands = this.world.effects.has(reverts ?? toolCallId);
    if (reverts !== undefined) return stands ? "retry" : { output: undefined };
    return stands ? { output: { made: (input as { readonly item: string }).item } } : { error: "it did not happen" };
  }

  async settleAll(agentId: string, storage?: PersistenceStorageProvider): Promise<void> {
    const durable = persistence(this.agent(storage)).agent(agentId);
    for (const call of await durable.getToolCallsInDoubt())
      await durable.settleToolCall(call.toolCallId, this.truthOf(call));
  }

  async answer(agentId: string, requestId: string, storage?: PersistenceStorageProvider): Promise<void> {
    const value = `color ${++this.#answers}`;
    await persistence(this.agent(storage)).agent(agentId).answer(requestId, value);
    this.answers.push({ agentId, value, dropped: false });
  }

  /** Runs an agent until it has ended. @throws if it cannot be brought to an end */
  async finish(agentId: string): Promise<void> {
    for (let tries = 0; tries < 20; tries++) if (await this.#continue(agentId)) return;
    throw new Error(`Agent ${agentId} cannot be brought to an end.`);
  }

  async #continue(agentId: string): Promise<boolean> {
    let result: RunResult<string>;
    try {
      result = await this.agent().resume({ agentId });
    } catch (error) {
      return this.#isOver(agentId, error);
    }
    if (result.status === "waiting") for (const { requestId } of result.requests) await this.answer(agentId, requestId);
    return result.status === "completed";
  }

  async #isOver(agentId: string, error: unknown): Promise<boolean> {
    const { code = "" } = error as { readonly code?: string };
    if (["nothing_to_resume", "run_cancelled"].includes(code)) return true;
    if (!["tool_call_in_doubt", "rollback_incomplete"].includes(code)) throw error;
    await this.settleAll(agentId);
    return false;
  }
}
