import { AIAgent, Persistence, type PersistenceFeature, persistence } from "../../index.ts";
import type * as replay from "../../replay.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { loadExport } from "./loadExport.ts";
import type { Session, WritingOptions } from "./Session.ts";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import type { CommandIo } from "../terminal/CommandIo.ts";

export interface AgentOptions extends WritingOptions {
  readonly agent?: string | undefined;
}

/** Returns the agent of `--agent`. @throws CommandFailure without it, or with `--storage`, `--keys` or `--seals` */
export async function requireAgent(session: Session, options: AgentOptions, why: string): Promise<LoadedAgent> {
  if (options.agent === undefined)
    throw new CommandFailure("usage", `${why} Name your agent: --agent ./agent.js#<export>`);
  for (const name of ["storage", "keys", "seals"] as const)
    if (options[name] !== undefined)
      throw new CommandFailure("usage", `The agent already has a storage. Pass --agent or --${name}, not both.`);
  return loadAgent(options.agent, session.io);
}

/**
 * Returns the Persistence of the agent that `--agent` names or, for commands that need no code, of an agent without
 * tools on the storage, opened for `purpose`.
 */
export async function storedAgents(
  session: Session,
  options: AgentOptions,
  purpose: "read" | "write",
): Promise<PersistenceFeature> {
  if (options.agent !== undefined) return (await requireAgent(session, options, "")).feature;
  const storage = await session.storage(purpose);
  const agent = new AIAgent({ promptExecutor: { execute: noModel }, llmModel: "none" });
  return persistence(agent.install(Persistence, { storage }));
}

async function noModel(): Promise<never> {
  throw new CommandFailure("usage", "Running an agent needs its code: --agent ./agent.js#<export>");
}

interface LoadedAgent {
  readonly agent: AIAgent<never, unknown>;
  readonly feature: PersistenceFeature;
  readonly replay: Library["replay"];
}

interface Library {
  readonly persistence: typeof persistence;
  /** Loads the entry `replay` of the same copy, because no other copy can run the agent. */
  readonly replay: () => Promise<typeof replay>;
}

/**
 * Loads the agent that `--agent <module#export>` names, or that its function returns. Output of the module goes to
 * standard error.
 *
 * @throws CommandFailure
 */
async function loadAgent(given: string, io: CommandIo): Promise<LoadedAgent> {
  const { path, exported, value } = await loadExport(given, io);
  const agent = value as AIAgent<never, unknown>;
  // Only the copy of this library that the user's module imports knows the agent.
  for await (const library of librariesOf(path)) {
    try {
      const feature = library.persistence(agent);
      if (feature) return { agent, feature, replay: library.replay };
    } catch (error) {
      if (!AgentPersistenceError.isInstance(error)) throw error;
    }
  }
  throw new CommandFailure(
    "usage",
    `The export "${exported}" of ${path} is not an agent with Persistence installed. Agents of other runtimes are run by your own code.`,
  );
}

/** Yields the copies of the library that the module may use. A TypeScript loader creates a second copy for CommonJS. */
async function* librariesOf(path: string): AsyncGenerator<Library> {
  yield { persistence, replay: () => import("../../replay.ts") };
  const require = createRequire(path);
  const imported = (name: string): Promise<unknown> => import(pathToFileURL(require.resolve(name)).href);
  try {
    yield libraryOf(await imported("agent-persistence"), () => imported(replayEntry));
    yield libraryOf(require("agent-persistence"), async () => require(replayEntry) as unknown);
  } catch {
    // The project of the module does not contain the library.
  }
}

const replayEntry = "agent-persistence/replay";

function libraryOf(root: unknown, replay: () => Promise<unknown>): Library {
  return { persistence: (root as Library).persistence, replay: replay as Library["replay"] };
}
