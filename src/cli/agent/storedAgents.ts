import {
  AIAgent,
  Persistence,
  type PersistenceFeature,
  persistence,
  type PersistenceStorageProvider,
} from "../../index.ts";
import { CommandFailure } from "../failure/CommandFailure.ts";
import type { Session, WritingOptions } from "../session/Session.ts";
import { loadAgent, type LoadedAgent } from "./loadAgent.ts";

/** Options of commands that may load an agent's code. */
export interface AgentOptions extends WritingOptions {
  readonly agent?: string | undefined;
}

export interface StoredAgents {
  readonly feature: PersistenceFeature;
  readonly storage: PersistenceStorageProvider;
}

/**
 * Returns the agent that `--agent` names with its storage.
 *
 * @throws CommandFailure without `--agent`, or if `--storage` is given as well
 */
export async function requireAgent(
  session: Session,
  options: AgentOptions,
  why: string,
): Promise<LoadedAgent & StoredAgents> {
  if (options.agent === undefined)
    throw new CommandFailure("usage", `${why} Name your agent: --agent ./agent.js#<export>`);
  if (options.storage !== undefined)
    throw new CommandFailure("usage", "The agent has its own storage: give --agent or --storage, not both.");
  const loaded = await loadAgent(options.agent, session.io);
  return { ...loaded, storage: loaded.feature.storage };
}

/**
 * Returns the agent that `--agent` names, or else an agent without tools on the storage. For commands that need no
 * code.
 *
 * @param purpose the purpose of opening the storage without code
 */
export async function storedAgents(
  session: Session,
  options: AgentOptions,
  purpose: "read" | "write",
): Promise<StoredAgents> {
  if (options.agent !== undefined) return requireAgent(session, options, "");
  const storage = await session.storage(purpose);
  const agent = new AIAgent({ promptExecutor: { execute: noModel }, llmModel: "none" });
  return { feature: persistence(agent.install(Persistence, { storage })), storage };
}

async function noModel(): Promise<never> {
  throw new CommandFailure("usage", "Running an agent needs its code: --agent ./agent.js#<export>");
}
